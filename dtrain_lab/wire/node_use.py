"""Nodes of a world, and the use of their resources."""

from __future__ import annotations

from msgspec import Struct


class HostUse(Struct, frozen=True):
    """Resource use of a whole node, our ranks included. Utilization is a share, 0 to 1.

    `cores`: number of CPU cores. `runnable`: recent number of threads running or ready to run.
    `sent_bytes_per_s`, `received_bytes_per_s`: of its network cards, so without traffic between ranks of the
    node. `throttled`: why its processors are slowed down; empty if they are not or if it is unknown.
    """

    cores: int = 1
    cpu_utilization: float | None = None
    sent_bytes_per_s: float | None = None
    received_bytes_per_s: float | None = None
    throttled: str = ""
    runnable: float | None = None


class Node(Struct, frozen=True):
    """A node of a cluster or a job, with its resource use as in `HostUse`."""

    name: str
    address: str
    state: str
    cpu_utilization: float | None = None
    sent_bytes_per_s: float | None = None
    received_bytes_per_s: float | None = None
    throttled: str = ""


def with_use(node: Node, use: HostUse | None) -> Node:
    """Return the node with the resource use filled in.

    Args:
        node: The node.
        use: Its resource use; None if unknown.
    """
    if use is None:
        return node
    return Node(
        node.name,
        node.address,
        node.state,
        use.cpu_utilization,
        use.sent_bytes_per_s,
        use.received_bytes_per_s,
        use.throttled,
    )
