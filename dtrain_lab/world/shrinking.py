"""Shrinking a world after lost ranks: which ranks remain and how they are renumbered. Pure."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from dtrain_lab.errors import BadSize
from dtrain_lab.wire.cluster import WithoutLost


class ShrinkPlan(Struct, frozen=True):
    """A smaller world of `size` ranks.

    `moves` pairs each lost rank below `size` with the surviving rank from above that takes its place.
    """

    size: int
    moves: tuple[tuple[int, int], ...]


def without(lost: Collection[int], size: int, per_node: int) -> ShrinkPlan:
    """Plan a smaller world without the lost ranks: numbered from 0 without gaps, and with whole nodes only.

    Args:
        lost: lost ranks.
        size: world size.
        per_node: ranks per node; 1 if all ranks are on one node.

    Returns:
        The new size, and which ranks move.

    Raises:
        BadSize: no whole node would be left.
    """
    stay = (size - len(set(lost))) // per_node * per_node
    if stay < 1:
        raise BadSize("No whole node would be left.", "Restart the lost ranks, or start another cluster.")
    holes = [rank for rank in sorted(lost) if rank < stay]
    spare = [rank for rank in range(stay, size) if rank not in lost]
    return ShrinkPlan(stay, tuple(zip(holes, spare, strict=False)))


def per_node(size: int, nodes: int) -> int:
    """Return how many ranks have to go together.

    Args:
        size: world size.
        nodes: number of its nodes.
    """
    return size // nodes if nodes > 1 else 1


def offered(lost: Collection[int], size: int, nodes: int) -> WithoutLost | None:
    """Tell what a smaller world without the lost ranks would cost; None if there are none, or no such world.

    Args:
        lost: lost ranks.
        size: world size.
        nodes: number of its nodes.
    """
    if not lost:
        return None
    try:
        stay = without(lost, size, per_node(size, nodes)).size
    except BadSize:
        return None
    gone = tuple(sorted(lost))
    ending = tuple(rank for rank in range(stay, size) if rank not in lost)
    return WithoutLost(stay, gone, tuple(rank for rank in gone if rank < stay), ending)
