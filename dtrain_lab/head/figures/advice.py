"""Adds the code change (a diff of the running cell) to advice."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from dtrain_lab.metrics.advice.diff import accumulate, ddp_name
from dtrain_lab.wire import clients
from dtrain_lab.wire.metrics.verdicts import Advice
from dtrain_lab.wire.metrics.world import Metrics


class Changes:
    """Computes the diff once for each cell."""

    def __init__(self) -> None:
        self._known: tuple[str, str] = ("", "")
        """Id of a cell, and its diff."""

    @staticmethod
    def given(advice: Sequence[Advice], orders: Sequence[clients.Run]) -> tuple[Advice, ...]:
        """Return advice with the diff of the last cell that has a training loop.

        Args:
            advice: Advice without a diff.
            orders: Run requests of known cells, oldest first.
        """
        if not advice:
            return ()
        model = next((name for o in reversed(orders) if (name := ddp_name(o.code))), None)
        diff = next((d for o in reversed(orders) if (d := accumulate(o.code, model))), "")
        return tuple(replace(a, diff=diff) if a.id == "accumulate" else a for a in advice)

    def shown(self, metrics: Metrics, orders: Sequence[clients.Run]) -> Metrics:
        """Return the metrics with the diff added to their advice.

        Args:
            metrics: Metrics of the world.
            orders: Run requests of known cells, oldest first; the last one is running.
        """
        if not metrics.advice or not orders:
            return metrics
        cell = orders[-1].cell
        if self._known[0] != cell:
            model = next((name for o in reversed(orders) if (name := ddp_name(o.code))), None)
            self._known = cell, accumulate(orders[-1].code, model)
        diff = self._known[1]
        return replace(
            metrics,
            advice=tuple(replace(a, diff=diff) if a.id == "accumulate" else a for a in metrics.advice),
        )
