"""Network: choice of each node's interface, and port ranges. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from dtrain_lab.errors import BadRequest, StartFailed
from dtrain_lab.wire.node_check import Interface

PORTS = range(20000, 32000)
"""Default port range, below the ephemeral ports of operating systems."""
GLOO = "GLOO_SOCKET_IFNAME"
COLLECTIVES = (GLOO, "NCCL_SOCKET_IFNAME", "HCCL_SOCKET_IFNAME")
"""Variables that name the network interface of libraries of collectives."""


def choose(nodes: Mapping[str, Sequence[Interface]], wanted: str | None = None) -> dict[str, Interface]:
    """Choose the fastest network that all nodes share, and each node's interface in it, whatever its name.

    An address that several nodes have (`docker0` has the same one everywhere) can't reach another node and is
    ignored. If no subnet is shared, networks may still be routed: then each node's fastest interface is
    chosen, and the connectivity check decides.

    Args:
        nodes: name of a node → its interfaces without loopback.
        wanted: name of the interface that the profile asks for; None for any.

    Returns:
        Name of a node → its interface.

    Raises:
        StartFailed: a node has no usable interface, or not the requested one.
    """
    shared = decoys(nodes.values())
    usable = {node: [i for i in interfaces if i.address not in shared] for node, interfaces in nodes.items()}
    if wanted is not None:
        usable = {node: [i for i in interfaces if i.name == wanted] for node, interfaces in usable.items()}
    for node, interfaces in usable.items():
        if not interfaces:
            names = ", ".join(sorted({i.name for i in nodes[node]})) or "none"
            raise StartFailed(
                f"{node} has no network interface {wanted}."
                if wanted
                else f"{node} has no network interface that other nodes could reach.",
                f"It has: {names}. Set [network] interface in the profile.",
                code="no_interface",
                details={"field": "interface"} if wanted else None,
            )
    common = set.intersection(*({i.network for i in interfaces} for interfaces in usable.values()))
    if not common:
        return {node: max(interfaces, key=_preference) for node, interfaces in usable.items()}

    def in_network(node: str, network: str) -> Interface:
        return max((i for i in usable[node] if i.network == network), key=_preference)

    best = max(common, key=lambda n: (min(_preference(in_network(node, n)) for node in usable), n))
    return {node: in_network(node, best) for node in usable}


def lacking(nodes: Mapping[str, Sequence[Interface]], wanted: str | None) -> dict[str, tuple[str, ...]]:
    """Return the nodes without a usable interface of a name, with the names of those they have.

    Args:
        nodes: name of a node → its interfaces without loopback.
        wanted: name of the requested interface; None for any, which every node has.
    """
    if wanted is None:
        return {}
    shared = decoys(nodes.values())
    usable = {node: {i.name for i in has if i.address not in shared} for node, has in nodes.items()}
    return {node: tuple(sorted(names)) for node, names in usable.items() if wanted not in names}


def decoys(nodes: Iterable[Sequence[Interface]]) -> set[str]:
    """Return the addresses that more than one node has."""
    counts = Counter(address for interfaces in nodes for address in {i.address for i in interfaces})
    return {address for address, count in counts.items() if count > 1}


def _preference(interface: Interface) -> tuple[int, bool]:
    return interface.speed, ":" not in interface.address


def blocked(pairs: Mapping[str, Sequence[str]], ports: str | None) -> StartFailed:
    """Make the error for nodes that can't reach each other.

    Args:
        pairs: node → nodes that it could not connect to.
        ports: the profile's port range; None if it has none.
    """
    routes = "; ".join(f"{node} can't reach {', '.join(others)}" for node, others in pairs.items())
    opened = f"TCP ports {ports}" if ports else "all TCP ports (or set [network] ports in the profile)"
    return StartFailed(
        f"Nodes can't connect to each other: {routes}.",
        f"Open {opened} between them, or choose another [network] interface.",
        code="nodes_blocked",
        details={"pairs": {node: list(others) for node, others in pairs.items()}},
    )


def port_range(text: str | None) -> range | None:
    """Parse a profile's port range, "20000-20999".

    Raises:
        BadRequest: not a port range, or fewer than `FEWEST_PORTS` ports.
    """
    if text is None:
        return None
    first, _, last = text.partition("-")
    if not (first.isdigit() and last.isdigit() and 0 < int(first) < int(last) < 65536):
        raise BadRequest(f'"{text}" is not a range of ports.', 'Write it as "20000-20999".', code="bad_ports")
    ports = range(int(first), int(last) + 1)
    if len(ports) < FEWEST_PORTS:
        raise BadRequest(
            f"{len(ports)} ports are too few.",
            f"Give at least {FEWEST_PORTS}: {first}-{int(first) + FEWEST_PORTS - 1}.",
            code="bad_ports",
        )
    return ports


FEWEST_PORTS = 24
"""Ports that a world needs: two of the head, MASTER_PORT, those of the connectivity check, and sixteen of
ipyparallel's controller."""
