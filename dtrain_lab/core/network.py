"""Which interface each node's ranks use to reach the others, as a choice among values."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from dtrain_lab.errors import BadRequest, StartFailed


class Interface(Struct, frozen=True):
    """An address that a node can be reached at. `speed` in Mbit/s; 0 where the system does not say."""

    name: str
    address: str
    prefix: int
    speed: int = 0

    @property
    def network(self) -> str:
        """The subnet, "10.0.0.0/24"."""
        return str(ipaddress.ip_network(f"{self.address}/{self.prefix}", strict=False))


class Speed(Struct, frozen=True):
    """Of TCP between two nodes, one connection: a small message there and back, and bytes a second."""

    round_trip_s: float
    bytes_per_s: float


class Between(Struct, frozen=True):
    """Which nodes, and over which interface of the first, a speed was measured."""

    first: str
    second: str
    interface: str
    speed: Speed


PORTS = range(20000, 32000)
"""Below those that systems give out by themselves."""


def choose(nodes: Mapping[str, Sequence[Interface]], wanted: str | None = None) -> dict[str, Interface]:
    """The fastest network that all nodes share; each node's own interface in it, whatever its name.

    An address that several nodes have (`docker0` has the same one everywhere) leads nobody to another node
    and is left out. Where no subnet is shared, networks may still be routed: then each node's fastest
    interface is taken, and the connectivity check tells.

    Args:
        nodes: interfaces by the name of the node, loopback left out.
        wanted: name of an interface that the profile asks for.

    Raises:
        StartFailed: a node has no usable interface, or not the one asked for.
    """
    shared = decoys(nodes.values())
    usable = {node: [i for i in interfaces if i.address not in shared] for node, interfaces in nodes.items()}
    if wanted is not None:
        usable = {node: [i for i in interfaces if i.name == wanted] for node, interfaces in usable.items()}
    for node, interfaces in usable.items():
        if not interfaces:
            known = ", ".join(sorted({i.name for i in nodes[node]})) or "none"
            raise StartFailed(
                f"{node} has no network interface {wanted}."
                if wanted
                else f"{node} has no network interface that other nodes could reach.",
                f"It has: {known}. Set [network] interface in the profile.",
                code="no_interface",
            )
    common = set.intersection(*({i.network for i in interfaces} for interfaces in usable.values()))
    if not common:
        return {node: max(interfaces, key=_preference) for node, interfaces in usable.items()}

    def in_network(node: str, network: str) -> Interface:
        return max((i for i in usable[node] if i.network == network), key=_preference)

    best = max(common, key=lambda n: (min(_preference(in_network(node, n)) for node in usable), n))
    return {node: in_network(node, best) for node in usable}


def decoys(nodes: Iterable[Sequence[Interface]]) -> set[str]:
    """Addresses that more than one node has."""
    counts = Counter(address for interfaces in nodes for address in {i.address for i in interfaces})
    return {address for address, count in counts.items() if count > 1}


def _preference(interface: Interface) -> tuple[int, bool]:
    return interface.speed, ":" not in interface.address


def blocked(pairs: Mapping[str, Sequence[str]], ports: str | None) -> StartFailed:
    """The error for nodes that can't reach each other.

    Args:
        pairs: node → nodes that it could not connect to.
        ports: the profile's range.
    """
    told = "; ".join(f"{node} can't reach {', '.join(others)}" for node, others in pairs.items())
    opened = f"TCP ports {ports}" if ports else "all TCP ports (or set [network] ports in the profile)"
    return StartFailed(
        f"Nodes can't connect to each other: {told}.",
        f"Open {opened} between them, or choose another [network] interface.",
        code="nodes_blocked",
        details={"pairs": {node: list(others) for node, others in pairs.items()}},
    )


def port_range(text: str | None) -> range | None:
    """The profile's "20000-20999".

    Raises:
        BadRequest: it is no range of ports, or too small for a world's sockets.
    """
    if text is None:
        return None
    first, _, last = text.partition("-")
    if not (first.isdigit() and last.isdigit() and 0 < int(first) < int(last) < 65536):
        raise BadRequest(f'"{text}" is no range of ports.', 'Write it as "20000-20999".', code="bad_ports")
    found = range(int(first), int(last) + 1)
    if len(found) < FEWEST_PORTS:
        raise BadRequest(
            f"{len(found)} ports are too few for a world.",
            f"Give at least {FEWEST_PORTS}: {first}-{int(first) + FEWEST_PORTS - 1}.",
            code="bad_ports",
        )
    return found


FEWEST_PORTS = 24
"""The head's two, MASTER_PORT, the connectivity check's, and the sixteen of ipyparallel's controller."""
