"""Request handlers for advice and forecasts of a cluster's training loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from dtrain_lab.head.cells.cells import Cells
from dtrain_lab.head.metrics.advice_diffs import AdviceDiffs
from dtrain_lab.head.metrics.collector import MetricsCollector
from dtrain_lab.head.requests import Handlers
from dtrain_lab.metrics.advice.forecast import forecast
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.metrics.forecast import Forecast
from dtrain_lab.wire.metrics.verdicts import Advice
from dtrain_lab.wire.metrics.world import Metrics

SAMPLED_WITHIN_S = 2.0
"""Time that the last samples of a loop may take after its end, seconds."""


class AdviceRequests:
    """Advice on the loop that trains, or trained last.

    Args:
        collector: Metrics of the world.
        cells: Cells of the world, whose code is to be changed.
        cluster: Takes a snapshot of the world, with the newest samples.
    """

    def __init__(self, collector: MetricsCollector, cells: Cells, cluster: Callable[[], Cluster]) -> None:
        self._collector = collector
        self._cells = cells
        self._cluster = cluster
        self._changes = AdviceDiffs()

    @property
    def handlers(self) -> Handlers:
        """Handlers by type of request."""
        return {clients.Advise: self._advise, clients.ForecastNodes: self._forecast}

    def advice(self) -> tuple[Advice, ...]:
        """Return the advice, with the changes of the code."""
        loops = self._collector.loops
        return self._changes.given(self._collector.advice, self._cells.orders, loops.code, loops.where)

    def in_metrics(self, metrics: Metrics) -> Metrics:
        """Return the metrics with the changes of the code added to their advice."""
        return self._changes.shown(metrics, self._cells.orders, self._collector.loops.code)

    async def _advise(self, _client: bytes, _order: clients.Advise) -> tuple[Advice, ...]:
        until = time.monotonic() + SAMPLED_WITHIN_S
        collector = self._collector
        while collector.loops.ahead_of(collector.samples()) and time.monotonic() < until:  # it has just ended
            await asyncio.sleep(0.05)
        self._cluster()  # takes the newest samples into account
        return self.advice()

    async def _forecast(self, _client: bytes, order: clients.ForecastNodes) -> Forecast:
        nodes = len(self._cluster().nodes)  # takes the newest samples into account
        return forecast(
            self._collector.measured, nodes, order.nodes, order.ranks, order.speed, order.speed_now
        )
