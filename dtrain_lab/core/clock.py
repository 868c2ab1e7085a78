"""Times of another machine, by ours."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dtrain_lab.core.cluster import CellRecord, Cluster, Output, RunningCell
from dtrain_lab.core.history import Point

AGREE_S = 1.0
"""What is less says nothing: an answer takes a while to be made."""
TIMES: dict[type, tuple[str, ...]] = {
    Cluster: ("created_at", "ends_at", "idle_since", "limit_at"),
    RunningCell: ("started_at",),
    CellRecord: ("started_at",),
    Output: ("time",),
    Point: ("at",),
}


def ahead(asked: float, said: float, heard: float) -> float:
    """By how many seconds another clock is ahead of ours; 0 where the way there takes longer.

    Args:
        asked, heard: before and after the question, by ours.
        said: between them, by the other.
    """
    off = said - (asked + heard) / 2
    return off if abs(off) > max(AGREE_S, heard - asked) else 0.0


def by_ours(value: Any, off: float) -> Any:
    """What a head said, with its times by our clock; what has none as it is."""
    if not off:
        return value
    if isinstance(value, list | tuple):
        return type(value)(by_ours(one, off) for one in value)
    names = TIMES.get(type(value), ())
    changes: dict[str, Any] = {n: at - off for n in names if (at := getattr(value, n)) is not None}
    if isinstance(value, Cluster):
        changes["running"] = by_ours(value.running, off)
    return replace(value, **changes) if changes else value
