"""Plans: what a start will do, as a value, before anything is done."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.core import ranks
from dtrain_lab.core.profile import Profile, Watch
from dtrain_lab.errors import BadSize


class Request(Struct, frozen=True, forbid_unknown_fields=True):
    """What a person asked for. `ranks`, or `nodes` and `ranks_per_node`; none means the profile's own."""

    profile: str = "local"
    ranks: int | None = None
    nodes: int | None = None
    ranks_per_node: int | None = None
    name: str | None = None
    monitor: bool | None = None
    kernel: str | None = None
    """Name of the kernelspec whose interpreter the ranks run in (from the panel)."""
    python: str | None = None
    """Path of the interpreter the ranks run in (from a kernel or a terminal)."""
    notebook: str | None = None
    """Path of the notebook below the server's root (from the panel): ranks start in its folder."""


class NodeFacts(Struct, frozen=True):
    """What one node has. `cpus` are those this user may run on; memory in bytes; `held`: slots in use."""

    name: str
    address: str
    cpus: int
    gpus: int
    memory_bytes: int
    held: int = 0


class HostsFacts(Struct, frozen=True):
    """What the hosts of a profile have, in their order. `first`: the one that has to have rank 0."""

    nodes: tuple[NodeFacts, ...]
    first: str | None = None


class Partition(Struct, frozen=True):
    """A scheduler's partition: its nodes that are not down, and its limits."""

    name: str
    nodes: tuple[NodeFacts, ...]
    time_s: int | None = None
    """Longest time of a job; None for no limit."""
    default: bool = False


class SlurmFacts(Struct, frozen=True):
    """What a Slurm cluster offers; inside an allocation that is to be used, the allocation alone."""

    partitions: tuple[Partition, ...]


Facts = NodeFacts | HostsFacts | SlurmFacts


class NodePlan(Struct, frozen=True):
    """What one node will run."""

    name: str
    address: str
    first_rank: int
    ranks: int
    gpus: int
    threads: int
    """OMP and MKL threads of each rank: allowed cores divided by local ranks."""


class Plan(Struct, frozen=True):
    """A world before it runs: where, how many, in which environment."""

    profile: str
    backend: str
    nodes: tuple[NodePlan, ...]
    python: str
    variables: dict[str, str]
    directory: str
    """Where ranks start: the notebook's or the terminal's directory."""
    collectives: str
    """Back-end of torch.distributed: "gloo" or "cpu:gloo,cuda:nccl"."""
    monitor: bool
    interface: str | None = None
    cpus_per_rank: int | None = None
    watch: Watch = Watch()

    @property
    def size(self) -> int:
        """World size."""
        return sum(node.ranks for node in self.nodes)


MOST_RANKS_PER_CORE = 32
"""Ranks without a GPU share cores; past this they hardly move, and memory goes first."""


def plan_local(profile: Profile, request: Request, facts: NodeFacts, *, python: str, directory: str) -> Plan:
    """Plan a world on this machine.

    One rank per GPU; two CPU ranks where there is none. Several nodes are simulated, a node agent each.

    Args:
        facts: of this machine.
        python: interpreter of head, agents and ranks.
        directory: where the ranks start.

    Raises:
        BadSize: zero ranks, or more than this machine can hold.
    """
    facts = _visible(facts, profile.environment.variables)
    nodes, per_node = _size(profile, request, facts)
    gpus = facts.gpus
    own_gpu = bool(gpus) and nodes == 1 and per_node <= gpus
    threads = max(1, facts.cpus // (nodes * per_node))
    return Plan(
        profile=profile.name,
        backend=profile.backend,
        nodes=tuple(
            NodePlan(
                name=facts.name if nodes == 1 else f"{facts.name}-{index + 1}",
                address=facts.address,
                first_rank=index * per_node,
                ranks=per_node,
                gpus=gpus,
                threads=threads,
            )
            for index in range(nodes)
        ),
        python=python,
        variables=dict(profile.environment.variables),
        directory=directory,
        collectives="cpu:gloo,cuda:nccl" if own_gpu else "gloo",
        monitor=profile.monitor if request.monitor is None else request.monitor,
        watch=profile.watch,
        interface=profile.network.interface,
    )


def _visible(facts: NodeFacts, variables: Mapping[str, str]) -> NodeFacts:
    """A machine as ranks see it whose profile says which GPUs they may use."""
    shown = variables.get("CUDA_VISIBLE_DEVICES")
    return facts if shown is None else replace(facts, gpus=min(facts.gpus, len(named_gpus(shown))))


def named_gpus(shown: str) -> tuple[str, ...]:
    """GPUs that a value of CUDA_VISIBLE_DEVICES names: as CUDA does, up to the first that is none."""
    names = [name.strip() for name in shown.split(",")]
    return tuple(itertools.takewhile(lambda name: name not in ("", "-1"), names))


def default_ranks(facts: NodeFacts) -> int:
    """Ranks of a world on this machine where nobody says how many."""
    return facts.gpus or 2


def most_ranks(facts: NodeFacts) -> int:
    """More ranks than this a machine does not get."""
    return max(facts.gpus, MOST_RANKS_PER_CORE * facts.cpus)


def _size(profile: Profile, request: Request, facts: NodeFacts) -> tuple[int, int]:
    for key in ("ranks", "nodes", "ranks_per_node"):
        value = getattr(request, key)
        if value is not None and value < 1:
            raise BadSize(
                f"{key} is {value}; a world has at least one rank.",
                f"This machine has {_has(facts)}: ask for 1 to {most_ranks(facts)} ranks.",
                details={"field": key},
            )
    if request.ranks is not None and (request.nodes or request.ranks_per_node):
        raise BadSize(
            "ranks, and nodes with ranks_per_node, were both given.",
            "Give either the number of ranks, or nodes and ranks per node.",
        )
    if request.ranks is not None:
        nodes, per_node = 1, request.ranks
    else:
        nodes = request.nodes or profile.nodes or 1
        per_node = request.ranks_per_node or profile.ranks_per_node or default_ranks(facts)
    if nodes * per_node > most_ranks(facts):
        raise BadSize(
            f"{ranks.count(nodes * per_node)} are more than this machine can hold: it has {_has(facts)}.",
            f"Ask for at most {most_ranks(facts)}.",
            details={
                "most": most_ranks(facts),
                "cpus": facts.cpus,
                "gpus": facts.gpus,
                "field": "ranks" if request.ranks else "ranks_per_node",
            },
        )
    return nodes, per_node


def _has(facts: NodeFacts) -> str:
    cores = f"{facts.cpus} core" if facts.cpus == 1 else f"{facts.cpus} cores"
    gpus = "no GPU" if not facts.gpus else "1 GPU" if facts.gpus == 1 else f"{facts.gpus} GPUs"
    return f"{cores} and {gpus}"
