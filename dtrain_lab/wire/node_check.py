"""Facts about a node (interfaces, versions, limits), and the network speed between two nodes."""

from __future__ import annotations

import ipaddress

from msgspec import Struct

from dtrain_lab.wire.plan import NodeFacts


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
