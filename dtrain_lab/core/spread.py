"""How many nodes, and how many ranks on each: from what was asked and what there is. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from dtrain_lab.core import ranks as rank_sets
from dtrain_lab.core import slots
from dtrain_lab.core.plan import HostsFacts, NodeFacts, NodePlan, Plan, Request
from dtrain_lab.core.profile import Profile
from dtrain_lab.errors import BadSize, Conflict

MOST_PER_CORE = 1
"""Ranks without a GPU on machines that others use, too: one a core."""


def room(facts: NodeFacts, profile: Profile) -> int:
    """Ranks that a node has room for: one a GPU, else one for each `cpus_per_rank` cores."""
    return facts.gpus or max(1, MOST_PER_CORE * facts.cpus // (profile.cpus_per_rank or 1))


def usual(facts: NodeFacts) -> int:
    """Ranks of a node where nobody says how many."""
    return facts.gpus or 2


def spread(
    request: Request, profile: Profile, rooms: Sequence[int], usual_per_node: int, place: str
) -> tuple[int, int]:
    """Nodes and ranks per node. Every node gets the same number; ranks alone take the fewest nodes that do.

    Args:
        request: of a person.
        profile: fills in what the request leaves open.
        rooms: ranks that each node has room for; nodes are taken in this order.
        usual_per_node: where nobody says how many.
        place: what the nodes are called in an error ("partition gpu", "the profile's hosts").

    Raises:
        BadSize: it can never run; the hint names the nearest that can.
    """
    for key in ("ranks", "nodes", "ranks_per_node"):
        value = getattr(request, key)
        if value is not None and value < 1:
            raise BadSize(
                f"{key} is {value}; a world has at least one rank.",
                f"{place} has {_has(rooms)}.",
                details={"field": key},
            )
    if request.ranks is not None and (request.nodes or request.ranks_per_node):
        raise BadSize(
            "ranks, and nodes with ranks_per_node, were both given.",
            "Give either the number of ranks, or nodes and ranks per node.",
        )
    if request.ranks is not None:
        fits = [k for k in range(1, len(rooms) + 1) if _fits(request.ranks, k, rooms)]
        if not fits:
            raise _too_many(f"{rank_sets.count(request.ranks)} can't run on {place}", rooms, request.ranks)
        return fits[0], request.ranks // fits[0]
    nodes = request.nodes or profile.nodes or 1
    per_node = request.ranks_per_node or profile.ranks_per_node or min(usual_per_node, min(rooms, default=1))
    if nodes > len(rooms) or per_node > min(sorted(rooms, reverse=True)[:nodes]):
        asked = f"{nodes} node{'s' if nodes > 1 else ''} of {rank_sets.count(per_node)}"
        field = "nodes" if nodes > len(rooms) else "ranks_per_node"
        raise _too_many(f"{asked} can't run on {place}", rooms, nodes * per_node, field)
    return nodes, per_node


def _fits(ranks: int, nodes: int, rooms: Sequence[int]) -> bool:
    return ranks % nodes == 0 and ranks // nodes <= min(sorted(rooms, reverse=True)[:nodes])


def _too_many(what: str, rooms: Sequence[int], asked: int, field: str = "ranks") -> BadSize:
    possible = sorted({n * k for k in range(1, len(rooms) + 1) for n in range(1, _least(rooms, k) + 1)})
    below = [n for n in possible if n < asked][-1:]
    above = [n for n in possible if n > asked][:1]
    nearest = [str(n) for n in below + above]
    hint = f"Ask for {' or '.join(nearest)} ranks." if nearest else "It has no node that is up."
    return BadSize(
        f"{what}: it has {_has(rooms)}.",
        hint,
        details={
            "nodes": len(rooms),
            "rooms": list(rooms),
            "nearest": [int(n) for n in nearest],
            "field": field,
        },
    )


def _least(rooms: Sequence[int], nodes: int) -> int:
    return min(sorted(rooms, reverse=True)[:nodes])


def _has(rooms: Sequence[int]) -> str:
    if not rooms:
        return "no node"
    most, least = max(rooms), min(rooms)
    size = rank_sets.count(most) if most == least else f"{least} to {most} ranks"
    return f"{len(rooms)} node{'s' if len(rooms) > 1 else ''} with room for {size} each"


def plan_hosts(profile: Profile, request: Request, facts: HostsFacts, *, python: str, directory: str) -> Plan:
    """Plan a world on hosts that are known by name.

    Raises:
        BadSize: they have no room for it.
        Conflict: the host that has to be the first is none of them, or has no room.
    """
    rooms = [room(node, profile) for node in facts.nodes]
    nodes, per_node = spread(request, profile, rooms, usual(facts.nodes[0]), "the profile's hosts")
    large = [node for node, has in zip(facts.nodes, rooms, strict=True) if has >= per_node]
    if facts.first is not None and facts.first not in {node.name for node in large}:
        raise Conflict(
            f"{facts.first} is not among the profile's hosts with room for {rank_sets.count(per_node)}.",
            "Over SSH a job waits on the first host of the other one: take a profile that has it.",
            details={"field": "after"},
        )
    # those where it starts at once come first
    large.sort(key=lambda node: (node.name != facts.first, slots.total(node) - node.held < per_node))
    return make_plan(profile, request, large[:nodes], per_node, python=python, directory=directory)


def make_plan(
    profile: Profile,
    request: Request,
    nodes: Sequence[NodeFacts],
    per_node: int,
    *,
    python: str,
    directory: str,
) -> Plan:
    """A plan for nodes that have been chosen; a scheduler's are named once they are known."""
    own_gpu = all(node.gpus >= per_node for node in nodes)
    return Plan(
        profile=profile.name,
        backend=profile.backend,
        nodes=tuple(
            NodePlan(
                name=node.name,
                address=node.address,
                first_rank=index * per_node,
                ranks=per_node,
                gpus=node.gpus,
                threads=profile.cpus_per_rank or max(1, node.cpus // per_node),
            )
            for index, node in enumerate(nodes)
        ),
        python=python,
        variables=dict(profile.environment.variables),
        directory=profile.workdir or directory,
        collectives="cpu:gloo,cuda:nccl" if own_gpu else "gloo",
        monitor=profile.monitor if request.monitor is None else request.monitor,
        watch=profile.watch,
        interface=profile.network.interface,
        cpus_per_rank=profile.cpus_per_rank,
    )
