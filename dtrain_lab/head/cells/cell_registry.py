"""The cells that a head knows: those that wait or run, and the last that have ended."""

from __future__ import annotations

import time
from collections.abc import Iterable

from dtrain_lab.head.cells.cell_queue import CellQueue
from dtrain_lab.head.cells.running_cell import Running
from dtrain_lab.wire import clients
from dtrain_lab.wire.cells import CellRecord, RunningCell, WaitingCell, WaitsFor

MOST_ENDED = 2000
"""How many ended cells are remembered."""


class CellRegistry:
    """Read access to cells by their ids.

    Args:
        queue: The queue that they wait in.
    """

    def __init__(self, queue: CellQueue) -> None:
        self._queue = queue
        self._cells: dict[str, Running] = {}
        """Cells that wait or run."""
        self._ended: dict[str, Running] = {}
        self._forked: dict[int, float] = {}
        """When each rank's process was started, seconds since 1970."""

    @property
    def running(self) -> tuple[RunningCell, ...]:
        """Cells that run now."""
        cells = self._cells.values()
        return tuple(self._running(c.order, c.ranks, c.began_at) for c in cells if c.began_at is not None)

    def _running(self, order: clients.Run, ranks: tuple[int, ...], began_at: float) -> RunningCell:
        named = self._named(order)
        return RunningCell(
            named.label,
            named.notebook,
            ranks,
            began_at,
            named.cell_id,
            detached=order.detached,
            kind=order.kind,
        )

    def _named(self, order: clients.Run) -> clients.Run:
        """The cell that a person knows: of a post-mortem, the one that has failed."""
        failed = self.find(order.failed)
        return order if failed is None else failed.order

    @property
    def orders(self) -> list[clients.Run]:
        """Run requests of ended cells, oldest first, then of running cells."""
        began = [c.order for c in self._cells.values() if c.began_at is not None]
        return [*(c.order for c in self._ended.values()), *began]

    def find(self, cell: str) -> Running | None:
        """A cell by its id, whether it has ended or not."""
        return self._cells.get(cell) or self._ended.get(cell)

    def get(self, cell: str) -> Running | None:
        """A cell that has not ended, by its id."""
        return self._cells.get(cell)

    def locate(self, run: str, label: str, notebook: str | None) -> tuple[str | None, str | None]:
        """Notebook and cell id for a stack frame; None if unknown.

        Args:
            run: The head's id of the cell; empty if the rank could not tell it.
            label: The cell's name.
            notebook: Notebook of the cell that runs.
        """
        cell = self.find(run)
        if cell is None:
            cells = (*self._ended.values(), *self._cells.values())
            mine = [c for c in cells if c.order.label == label and c.order.notebook == notebook]
            cell = mine[-1] if mine else None
        return (cell.order.notebook, cell.order.cell_id) if cell is not None else (notebook, None)

    def of_rank(self, rank: int) -> Running | None:
        """The cell that a rank runs."""
        return next((c for c in self._cells.values() if c.began_at is not None and rank in c.left), None)

    def queued_ids(self) -> list[str]:
        """Ids of queued cells, those that have not started."""
        return [name for name, c in self._cells.items() if c.began_at is None]

    @property
    def queued(self) -> tuple[WaitingCell, ...]:
        """Queued cells, in the order in which they were requested: `Cluster.waiting`."""
        queued = [c for c in self._cells.values() if c.began_at is None]
        return tuple(
            WaitingCell(c.order.label, c.order.notebook, c.order.cell_id, c.order.kind)
            for c in sorted(queued, key=lambda c: c.asked_at)
        )

    @property
    def has_run(self) -> bool:
        """Whether a cell has ended."""
        return bool(self._ended)

    def records(self, *, last: bool = False) -> list[CellRecord]:
        """All known cells, oldest first.

        Args:
            last: Only the last run of each notebook cell.
        """
        cells = sorted((*self._ended.values(), *self._cells.values()), key=lambda c: c.asked_at)
        if last:
            cells = list({(c.order.notebook, c.order.kernel, c.order.cell_id): c for c in cells}.values())
        return [cell.record(self._waits_for(cell), self._forked) for cell in cells]

    def forked(self, ranks: Iterable[int]) -> None:
        """New processes are started for ranks: what earlier cells left in the old ones is gone."""
        self._forked.update(dict.fromkeys(ranks, time.time()))

    def _waits_for(self, cell: Running) -> tuple[WaitsFor, ...]:
        ahead = [self._cells.get(name) for name in self._queue.ahead_of(cell.order.cell)]
        return tuple(
            WaitsFor(c.order.label, c.order.notebook, c.order.kind) if c else WaitsFor() for c in ahead
        )

    def _remember(self, ended: Running) -> None:
        self._ended[ended.order.cell] = ended
        while len(self._ended) > MOST_ENDED:
            self._ended.pop(next(iter(self._ended)))
