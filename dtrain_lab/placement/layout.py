"""Layout: how many nodes and ranks per node, by the request and the available nodes. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from dtrain_lab.errors import BadSize, Conflict
from dtrain_lab.placement.capacity import capacity, default_ranks, slot_count
from dtrain_lab.placement.frameworks import ascend
from dtrain_lab.text import rank_names
from dtrain_lab.text.lists import listed
from dtrain_lab.text.units import counted
from dtrain_lab.wire.plan import Facts, HostsFacts, NodeFacts, NodePlan, Plan, Request
from dtrain_lab.wire.profile import Profile


def check_request(request: Request, possible: str) -> None:
    """Check that the sizes of a request are consistent.

    Args:
        request: the user's request.
        possible: hint that says how many ranks are possible.

    Raises:
        BadSize: zero ranks, or sizes that contradict each other.
    """
    for key in ("ranks", "nodes", "ranks_per_node"):
        value = getattr(request, key)
        if value is not None and value < 1:
            message = f"{key} is {value}; there must be at least one {'node' if key == 'nodes' else 'rank'}."
            hint = "Leave it out, or give 1 or more." if key == "nodes" else possible
            raise BadSize(message, hint, details={"field": key})
    if request.ranks is not None and (request.nodes or request.ranks_per_node):
        raise BadSize(
            "ranks was given together with nodes or ranks_per_node.",
            "Give either the number of ranks, or nodes and ranks per node.",
        )


def spread(
    request: Request, profile: Profile, capacities: Sequence[int], usual_per_node: int, place: str
) -> tuple[int, int]:
    """Choose the number of nodes and of ranks per node, which is the same on every node.

    If only `ranks` is given, the fewest nodes that fit are used.

    Args:
        request: the user's request.
        profile: supplies what the request leaves open.
        capacities: number of ranks that fit on each node.
        usual_per_node: default number of ranks per node.
        place: name of the nodes in an error ("partition gpu", "the profile's hosts").

    Returns:
        Number of nodes, and ranks per node.

    Raises:
        BadSize: the request can never run; the hint names the nearest possible size.
    """
    check_request(request, f"{place} has {_has(capacities)}.")
    if request.ranks is not None:
        fits = [k for k in range(1, len(capacities) + 1) if _fits(request.ranks, k, capacities)]
        if not fits:
            raise _too_many(
                f"{rank_names.count(request.ranks)} can't run on {place}", capacities, request.ranks
            )
        return fits[0], request.ranks // fits[0]
    nodes = request.nodes or profile.nodes or 1
    per_node = (
        request.ranks_per_node or profile.ranks_per_node or min(usual_per_node, min(capacities, default=1))
    )
    if nodes > len(capacities) or per_node > min(sorted(capacities, reverse=True)[:nodes]):
        size = f"{counted(nodes, 'node')} of {rank_names.count(per_node)}"
        field = "nodes" if nodes > len(capacities) else "ranks_per_node"
        raise _too_many(f"{size} can't run on {place}", capacities, nodes * per_node, field)
    return nodes, per_node


def _fits(ranks: int, nodes: int, capacities: Sequence[int]) -> bool:
    return ranks % nodes == 0 and ranks // nodes <= min(sorted(capacities, reverse=True)[:nodes])


def _too_many(problem: str, capacities: Sequence[int], asked: int, field: str = "ranks") -> BadSize:
    possible = sorted(
        {n * k for k in range(1, len(capacities) + 1) for n in range(1, _least(capacities, k) + 1)}
    )
    below = [n for n in possible if n < asked][-1:]
    above = [n for n in possible if n > asked][:1]
    nearest = [str(n) for n in below + above]
    hint = f"Ask for {listed(nearest, 'or')} ranks." if nearest else "No node of the partition is up."
    return BadSize(
        f"{problem}: it has {_has(capacities)}.",
        hint,
        details={
            "nodes": len(capacities),
            "rooms": list(capacities),
            "nearest": [int(n) for n in nearest],
            "asked": asked,
            "field": field,
        },
    )


def _least(capacities: Sequence[int], nodes: int) -> int:
    return min(sorted(capacities, reverse=True)[:nodes])


def _has(capacities: Sequence[int]) -> str:
    if not capacities:
        return "no node"
    most, least = max(capacities), min(capacities)
    size = rank_names.count(most) if most == least else f"{least} to {most} ranks"
    return f"{counted(len(capacities), 'node')} with room for {size} each"


def plan_hosts(profile: Profile, request: Request, facts: HostsFacts, *, python: str, directory: str) -> Plan:
    """Plan a world on hosts that are known by name.

    Args:
        profile: the profile.
        request: the user's request.
        facts: resources of the profile's hosts.
        python: interpreter of head, agents and ranks.
        directory: working directory of the ranks if the profile has no workdir.

    Raises:
        BadSize: the world doesn't fit on the hosts.
        Conflict: the host that must have rank 0 is not among them, or the ranks don't fit on it.
    """
    capacities = [capacity(node, profile) for node in facts.nodes]
    nodes, per_node = spread(
        request, profile, capacities, default_ranks(facts.nodes[0]), "the profile's hosts"
    )
    large = [node for node, has in zip(facts.nodes, capacities, strict=True) if has >= per_node]
    if facts.first is not None and facts.first not in {node.name for node in large}:
        raise Conflict(
            f"{facts.first} is not among the profile's hosts with room for {rank_names.count(per_node)}.",
            "Over SSH, a job waits on the first host of the job before it: use a profile with that host.",
            details={"field": "after"},
        )

    def key(node: NodeFacts) -> tuple[bool, bool, bool]:
        # a world on a host without the interface may not start; one on hosts with free slots starts at once
        busy = slot_count(node) - node.held < per_node
        return node.name != facts.first, node.name in facts.lacking, busy

    large.sort(key=key)
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
    """Make a plan for chosen nodes; a scheduler's nodes get their real names once they are allocated.

    Args:
        profile: the profile.
        request: the user's request.
        nodes: the chosen nodes; the first gets rank 0.
        per_node: number of ranks on each node.
        python: interpreter of head, agents and ranks.
        directory: working directory of the ranks if the profile has no workdir.
    """
    own_gpu = all(node.gpus >= per_node for node in nodes)
    collectives = ascend.COLLECTIVES if ascend.used(profile) else collectives_of(own_gpu)
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
        collectives=collectives,
        monitor=profile.monitor if request.monitor is None else request.monitor,
        watch=profile.watch,
        interface=profile.network.interface,
        cpus_per_rank=profile.cpus_per_rank,
    )


def collectives_of(own_gpu: bool) -> str:
    """Return the back-ends of a process group; `own_gpu`: each rank has a GPU of its own."""
    return "cpu:gloo,cuda:nccl" if own_gpu else "gloo"


def allocated(plan: Plan, index: int, name: str, facts: NodeFacts) -> Plan:
    """Put a node that a scheduler has chosen into the plan; its resources are known only now.

    Args:
        plan: Plan of the world.
        index: Number of the node.
        name: Name of the node.
        facts: Resources of the node.
    """
    node = plan.nodes[index]
    threads = plan.cpus_per_rank or max(1, facts.cpus // node.ranks)
    chosen = replace(node, name=name, gpus=facts.gpus, threads=threads)
    nodes = (*plan.nodes[:index], chosen, *plan.nodes[index + 1 :])
    plan = replace(plan, nodes=nodes)
    if plan.collectives == ascend.COLLECTIVES:
        return plan
    return replace(plan, collectives=collectives_of(all(n.gpus >= n.ranks for n in nodes)))


def among(plan: Plan, jobs: int, facts: Facts) -> Plan:
    """Divide the threads of ranks among concurrent jobs; a scheduler gives each job its own cores.

    Args:
        plan: plan of one of the jobs.
        jobs: number of concurrent jobs.
        facts: the machines that they run on.
    """
    if jobs < 2 or plan.cpus_per_rank is not None or not isinstance(facts, NodeFacts | HostsFacts):
        return plan
    hosts = len(facts.nodes) if isinstance(facts, HostsFacts) else 1
    used = len(plan.nodes) if isinstance(facts, HostsFacts) else 1
    each = max(1, -(-jobs * used // hosts))
    nodes = tuple(replace(node, threads=max(1, node.threads // each)) for node in plan.nodes)
    return replace(plan, nodes=nodes)
