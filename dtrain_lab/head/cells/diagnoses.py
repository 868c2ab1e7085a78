"""Handles `diagnose`: measured on idle ranks, in a turn like a cell's, or read from live metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from dtrain_lab.errors import BadRequest, Conflict
from dtrain_lab.head.cells.cell_requests import OVER, CellRequests
from dtrain_lab.head.cells.cells import Cells
from dtrain_lab.head.membership import Membership
from dtrain_lab.metrics.diagnosis import conclude, from_live
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.metrics.diagnosis import Diagnosis
from dtrain_lab.wire.metrics.verdicts import Verdict

WITHIN_S = 600.0


class Diagnoses:
    """Answers requests for a diagnosis.

    Args:
        requests: Says which ranks can run cells.
        cells: All cells of the world.
        membership: State of the world.
        cluster: Makes the current snapshot of the world.
        slow: Returns the verdict on a rank that was slow in the latest loop, if there was one.
        found: Called with a diagnosis, which replaces the monitor's estimate of the latest loop.
    """

    def __init__(
        self,
        requests: CellRequests,
        cells: Cells,
        membership: Membership,
        cluster: Callable[[], Cluster],
        slow: Callable[[], Verdict | None],
        found: Callable[[Diagnosis], None],
    ) -> None:
        self._requests = requests
        self._cells = cells
        self._membership = membership
        self._cluster = cluster
        self._slow = slow
        self._found = found

    async def diagnose(self, client: bytes, order: clients.Diagnose) -> Diagnosis:
        """Run both checks on idle ranks; while a training cell runs, conclude from its metrics instead.

        Raises:
            BadRequest: No training has run yet, or the model can't be run again.
            Conflict: A cell that does not train is running, or the ranks failed.
        """
        cell = self._cells.known(order.cell)
        if cell is None:
            info = self._cluster()
            if info.running:
                if info.metrics.step_s is None:
                    raise Conflict("A cell runs, and it does not train.", "Diagnose once it has ended.")
                return from_live(info.metrics)
            ranks = self._requests.usable(None)
            run = clients.Run(cell=order.cell, code="", label="diagnose", ranks=ranks, timeout_s=WITHIN_S)
            cell = self._cells.diagnose(run, ranks, client, ready=self._requests.ready)
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        cell.on_end.append(lambda: None if ended.done() else ended.set_result(None))
        if cell.result is None:
            await self._membership.until_done(ended, lambda s: s.phase in OVER)
        if cell.result is None:
            raise Conflict(self._cluster().summary.text, "Start a cluster: %distributed start")
        reports = [report for _, report in sorted((cell.reports or {}).items())]
        if error := next((r.error for r in reports if r.error), ""):
            raise BadRequest(error, "While a training cell runs, it is diagnosed from its own steps.")
        if cell.result.failures or len(reports) < len(cell.ranks):
            raise Conflict(
                f"The ranks could not be diagnosed: {cell.result.sentence}", "The cell's output says more."
            )
        diagnosis = conclude(reports, self._slow())
        self._found(diagnosis)
        return diagnosis
