"""What a job has passed to `dt.log`, for charts: all values of a short job, fewer of a long one. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dtrain_lab.wire.jobs.job import Logged
from dtrain_lab.wire.metrics.history import Point

MOST = 1000
"""Values of a name up to which all of them are kept; of several names, each has its share."""
LEAST = 250
"""The share of a name is at least this."""


def thinned(logged: Sequence[Logged], most: int = MOST) -> list[Logged]:
    """Return the calls of `dt.log` to chart.

    A name with few values keeps all of them. Of one with more, the smallest and the largest of each of equal
    pieces are kept, and the first and the last of all; so no peak is lost, and the last value is the job's.

    Args:
        logged: The calls, in order of time.
        most: About how many to keep.
    """
    if len(logged) <= most:
        return list(logged)
    at: dict[str, list[int]] = {}
    for index, entry in enumerate(logged):
        for name in entry.values:
            at.setdefault(name, []).append(index)
    share = max(LEAST, most // len(at)) if at else most
    kept: set[int] = set()
    for name, indices in at.items():
        kept.update(indices if len(indices) <= share else _extremes(logged, name, indices, share // 2))
    return [logged[index] for index in sorted(kept)]


def from_history(points: Iterable[Point], before: float) -> list[Logged]:
    """Return the values of `dt.log` before a time, as far as the points of a history have them.

    Args:
        points: The points, in order of time; each has the latest value of every name.
        before: Seconds since 1970.
    """
    logged: list[Logged] = []
    last: dict[str, Any] = {}
    for point in points:
        step = point.values.get("step")
        if point.at >= before or point.values == last or not isinstance(step, int):
            continue
        last = point.values
        logged.append(Logged(point.at, step, {n: v for n, v in last.items() if n != "step"}))
    return logged


def _extremes(logged: Sequence[Logged], name: str, indices: Sequence[int], pieces: int) -> set[int]:
    """Return the indices of the first and the last value, and of each piece's smallest and largest one."""

    def value(index: int) -> float:
        number = logged[index].values[name]
        return float("inf") if isinstance(number, str) else number  # "nan" is a logged value, too

    kept = {indices[0], indices[-1]}
    for piece in range(pieces):
        part = indices[piece * len(indices) // pieces : (piece + 1) * len(indices) // pieces]
        kept |= {min(part, key=value), max(part, key=value)}
    return kept
