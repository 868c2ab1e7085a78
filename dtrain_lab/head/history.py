"""The past of a world, as long as its head lives."""

from __future__ import annotations

from collections import deque

from dtrain_lab.core.cluster import Cluster
from dtrain_lab.core.history import Point, point

PERIOD_S = 1.0
MOST = 4 * 3600
"""Four hours of training; above, every second point is dropped, and again, and so on."""


class History:
    """One point a second while something trains."""

    def __init__(self) -> None:
        self._points: deque[Point] = deque()
        self._period_s = PERIOD_S
        self._values: dict[str, object] = {}

    def look(self, at: float, cluster: Cluster) -> None:
        """Keep a point, if it is time.

        Args:
            at: seconds since 1970.
            cluster: as it is then.
        """
        metrics = cluster.metrics
        news = metrics.values != self._values
        if (metrics.step_s is None and not news) or not self.due(at):
            return
        self._values = metrics.values
        self._points.append(point(at, metrics, cluster.ranks, cluster.nodes, cluster.world.generation))
        if len(self._points) > MOST:
            self._points = deque(list(self._points)[::2])
            self._period_s *= 2

    def due(self, at: float) -> bool:
        """Whether it is time for the next point; after the clock was set back, too."""
        return not self._points or not 0 <= at - self._points[-1].at < self._period_s

    def since(self, at: float) -> list[Point]:
        """Points after a time, oldest first."""
        return [p for p in self._points if p.at > at]
