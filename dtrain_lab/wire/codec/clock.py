"""Clock offset between machines, and conversion of a head's times to the local clock."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dtrain_lab.wire.cells import CellRecord, Output, RunningCell
from dtrain_lab.wire.cluster import Cluster, Lost
from dtrain_lab.wire.metrics.history import Point

AGREE_S = 1.0
"""Smaller offsets in seconds are ignored: making an answer takes time too."""
TIMES: dict[type, tuple[str, ...]] = {
    Cluster: ("created_at", "ends_at", "idle_since", "limit_at"),
    RunningCell: ("started_at",),
    CellRecord: ("started_at", "ended_at"),
    Lost: ("at",),
    Output: ("time",),
    Point: ("at",),
}


def ahead(before: float, answered: float, after: float) -> float:
    """Estimate how far another machine's clock is ahead of ours.

    Args:
        before: our time before the request, in seconds since 1970.
        answered: the other machine's time in its answer.
        after: our time after the answer.

    Returns:
        Seconds; 0 if the offset is below `AGREE_S` or the round-trip time.
    """
    off = answered - (before + after) / 2
    return off if abs(off) > max(AGREE_S, after - before) else 0.0


def by_ours(value: Any, off: float) -> Any:
    """Convert the times in a head's answer to our clock.

    Args:
        value: the answer; a type without times is returned unchanged.
        off: seconds by which the head's clock is ahead, as `ahead` returns it.
    """
    if not off:
        return value
    if isinstance(value, list | tuple):
        return type(value)(by_ours(part, off) for part in value)
    names = TIMES.get(type(value), ())
    changes: dict[str, Any] = {n: at - off for n in names if (at := getattr(value, n)) is not None}
    if isinstance(value, Cluster):
        changes["running"] = by_ours(value.running, off)
        changes["lost"] = by_ours(value.lost, off)
    return replace(value, **changes) if changes else value
