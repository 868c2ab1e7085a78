"""Facts about a node (interfaces, versions, limits), the network speed between two, and a profile's check."""

from __future__ import annotations

import ipaddress

from msgspec import Struct

from dtrain_lab.wire.kinds import Framework
from dtrain_lab.wire.plan import NodeFacts
from dtrain_lab.wire.summary import Summary


class Interface(Struct, frozen=True):
    """An address at which a node can be reached. `speed` is in Mbit/s; 0 if unknown."""

    name: str
    address: str
    prefix: int
    speed: int = 0

    @property
    def network(self) -> str:
        """The subnet, "10.0.0.0/24"."""
        return str(ipaddress.ip_network(f"{self.address}/{self.prefix}", strict=False))


class NodeInterfaces(Struct, frozen=True):
    """The interfaces of a node of a job, without loopback. `node`: its index."""

    node: int
    interfaces: tuple[Interface, ...]


class Speed(Struct, frozen=True):
    """Speed of one TCP connection between two nodes: round trip of a small message, and throughput."""

    round_trip_s: float
    bytes_per_s: float


class MeasuredSpeed(Speed, frozen=True):
    """A speed that was measured earlier. `at`: when, seconds since 1970."""

    at: float


class Between(Struct, frozen=True):
    """A measured speed, with the two nodes and the interface of the first node."""

    first: str
    second: str
    interface: str
    speed: Speed


class Check(Struct, frozen=True):
    """Facts about a node. `versions`: by package, "" if not installed; `shm_bytes`: free in /dev/shm."""

    facts: NodeFacts
    python: str
    versions: dict[str, str]
    driver: str = ""
    """Version of the GPU driver; empty if there is none."""
    shm_bytes: int = 0
    files: int = 0
    processes: int = 0
    interfaces: tuple[Interface, ...] = ()
    workdir_problem: str = ""
    """Why the profile's workdir is not writable on the node."""
    tickets: str = ""
    """Folder of the node's slot tickets."""


class CheckedNode(Struct, frozen=True):
    """A node of a checked profile. Versions of other frameworks than the profile's are None."""

    node: str
    cpus: int
    gpus: int
    memory_gib: float
    python: str
    torch: str
    tensorflow: str | None
    mindspore: str | None
    dtrain_lab: str
    driver: str
    shm_gib: float
    files: int
    processes: int
    interfaces: str


class Fitting(Struct, frozen=True):
    """What a request may ask for so that each rank has a device."""

    nodes: int
    ranks_per_node: int
    cpus_per_rank: int
    memory_gib_per_rank: float


class ProfileCheck(Struct, frozen=True):
    """What the nodes of a profile said when they were checked; no world was started.

    `ranks`: number of ranks that the profile starts. `network`: the speed between two of the nodes, if it was
    measured. `findings`: what may cause trouble, and `room`: how many ranks fit, as sentences that a page can
    translate; `warnings` and `capacity` are the same in English.
    """

    name: str
    backend: str
    framework: Framework
    nodes: tuple[CheckedNode, ...]
    ranks: int
    collectives: str
    network: Between | None
    warnings: tuple[str, ...]
    findings: tuple[Summary, ...]
    ask: Fitting
    capacity: str
    room: tuple[Summary, ...]
