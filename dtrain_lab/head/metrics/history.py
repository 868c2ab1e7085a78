"""Metrics history of a world, kept in memory for the head's lifetime."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable
from math import isnan, nan

from msgspec.structs import replace

from dtrain_lab.metrics.history import point
from dtrain_lab.metrics.outdated import of_steps
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.metrics.history import Point

MOST = 4 * 3600
"""Points: four hours of a cluster's training. Beyond that, every second point is dropped, repeatedly."""
MOST_OWN = 300_000
"""Maximum number of stored own times, for the latest points: 5 minutes of 1,024 ranks, more of fewer."""

FEW = 120
"""Up to this many points, each new value of `dt.log` gets one: a run that logs seldom keeps all."""
NEWS_S = 0.9
"""Minimum interval between such points, seconds."""


class History:
    """Points at even intervals while a training runs.

    Args:
        period_s: Seconds between two points.
        record: Called with each point.
        idle_s: Seconds between two points without training, for charts: memory, and when a rank was lost
            or the world's group rebuilt. None for no such points. They are kept apart: exports have only
            training.
    """

    def __init__(self, period_s: float, record: Callable[[Point], None], idle_s: float | None = None) -> None:
        self._points: deque[Point] = deque()
        self._own: deque[tuple[float, array[float]]] = deque()
        """Time of the point, and own time of each rank in seconds; NaN if unknown."""
        self._period_s = period_s
        self._record = record
        self._idle: deque[Point] = deque(maxlen=MOST)
        self._idle_s = idle_s
        self._values: dict[str, object] = {}
        self._lost: tuple[int, ...] = ()

    def due(self, at: float, values: dict[str, object], *, trains: bool, ended: bool) -> bool:
        """Whether a point is due: the period is over, or there are new values that need one of their own.

        Args:
            at: Seconds since 1970.
            values: The user's values of `dt.log`.
            trains: Whether steps are taken.
            ended: Whether a cell has ended since the last call.
        """
        news = values != self._values
        return ((trains or news) and self._apart(at, self._period_s)) or (
            news and (ended or self._news_due(at))
        )

    def add(self, at: float, cluster: Cluster) -> None:
        """Add a point.

        Args:
            at: Seconds since 1970.
            cluster: Snapshot of the world at that time.
        """
        metrics = cluster.metrics
        self._values = metrics.values
        point = _point(at, cluster)
        self._points.append(point)
        self._own.append((at, array("f", (nan if r.own_s is None else r.own_s for r in cluster.ranks))))
        while len(self._own) * len(cluster.ranks) > MOST_OWN:
            self._own.popleft()
        self._record(point)
        if len(self._points) > MOST:
            self._points = deque(list(self._points)[::2])
            self._period_s *= 2

    def rests(self, at: float, generation: int, lost: tuple[int, ...]) -> bool:
        """Whether `rest` is due: nothing was kept for a while, or a rank was lost or the group rebuilt since.

        Args:
            at: The time now, in seconds since 1970.
            generation: The world's current generation.
            lost: Its ranks that are lost.
        """
        if self._idle_s is None:
            return False
        last = max(
            (kept[-1] for kept in (self._points, self._idle) if kept), key=lambda p: p.at, default=None
        )
        changed = lost != self._lost or last is None or generation != last.generation
        return changed or last is None or not 0 <= at - last.at < self._idle_s

    def rest(self, at: float, cluster: Cluster, lost: tuple[int, ...]) -> None:
        """Add a point without metrics of steps: ranks' samples keep those of their last ones.

        Args:
            at: The time now, in seconds since 1970.
            cluster: Snapshot of the world, from which the point is made.
            lost: Its ranks that are lost, as in `rests`.
        """
        self._lost = lost
        self._idle.append(replace(_point(at, cluster), **dict.fromkeys(of_steps(Point))))

    def _news_due(self, at: float) -> bool:
        """Whether a new value has a point before the next one is due."""
        return len(self._points) < FEW and self._apart(at, NEWS_S)

    def _apart(self, at: float, seconds: float) -> bool:
        """Whether the last point is that long ago, or in the future: the clock was set back."""
        return not self._points or not 0 <= at - self._points[-1].at < seconds

    def since(self, at: float, *, idle: bool = False) -> list[Point]:
        """Return the points after a time, oldest first.

        Args:
            at: Seconds since 1970; 0 for the whole history.
            idle: Include points at which no rank trained.
        """
        own = {when: tuple(None if isnan(s) else round(s, 6) for s in times) for when, times in self._own}
        trained = [replace(p, own_s=own.get(p.at, ())) for p in self._points if p.at > at]
        rested = [p for p in self._idle if p.at > at] if idle else []
        return sorted(trained + rested, key=lambda p: p.at) if rested else trained


def _point(at: float, cluster: Cluster) -> Point:
    slow = tuple(rank.rank for rank in cluster.ranks if rank.slow)
    lost = tuple(one.rank for one in cluster.lost)
    return point(at, cluster.metrics, slow, cluster.world.generation, lost)
