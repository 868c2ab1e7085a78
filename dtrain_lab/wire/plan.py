"""Plan of a start as a value, and its inputs: the request and the facts about nodes."""

from __future__ import annotations

from msgspec import Struct

from dtrain_lab.wire.profile import Watch
from dtrain_lab.wire.traits import Traits


class Request(Struct, frozen=True, forbid_unknown_fields=True):
    """A request to start a cluster.

    The size is `ranks`, or `nodes` and `ranks_per_node`; without any of them, the profile's.
    """

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


class Facts(Struct, frozen=True):
    """Resources of a profile's nodes; a back-end that needs others than those below makes its own class."""


class NodeFacts(Facts, frozen=True):
    """Resources of one node. `cpus`: CPUs that this user may run on; `held`: number of slots in use."""

    name: str
    address: str
    cpus: int
    gpus: int
    memory_bytes: int
    held: int = 0


class HostsFacts(Facts, frozen=True):
    """Resources of a profile's hosts, in the profile's order.

    Attributes:
        nodes: The hosts.
        first: Name of the host that must have rank 0.
        lacking: Hosts without the network interface that was asked for, with the names of those they have.
    """

    nodes: tuple[NodeFacts, ...]
    first: str | None = None
    lacking: dict[str, tuple[str, ...]] = {}


class Partition(Struct, frozen=True):
    """A scheduler's partition: its nodes that are up, and its limits. `idle`: nodes without a job."""

    name: str
    nodes: tuple[NodeFacts, ...]
    time_s: int | None = None
    """Time limit of a job in seconds; None for no limit."""
    default: bool = False
    idle: tuple[str, ...] = ()


class SchedulerFacts(Facts, frozen=True):
    """Resources of a scheduler's cluster, or those of an existing allocation that is to be used."""

    partitions: tuple[Partition, ...]


class NodePlan(Struct, frozen=True):
    """The ranks that one node will run."""

    name: str
    address: str
    first_rank: int
    ranks: int
    gpus: int
    threads: int
    """OMP and MKL threads of each rank: allowed cores divided by local ranks."""


class Plan(Struct, frozen=True):
    """The plan of a world: nodes, ranks and environment."""

    profile: str
    backend: str
    nodes: tuple[NodePlan, ...]
    python: str
    variables: dict[str, str]
    directory: str
    """Working directory of the ranks: the notebook's or the terminal's."""
    collectives: str
    """Back-end of torch.distributed: "gloo" or "cpu:gloo,cuda:nccl"."""
    monitor: bool
    interface: str | None = None
    cpus_per_rank: int | None = None
    watch: Watch = Watch()
    traits: Traits = Traits()
    """Traits of the plan's back-end."""

    @property
    def size(self) -> int:
        """World size."""
        return sum(node.ranks for node in self.nodes)
