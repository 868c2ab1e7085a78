"""Cells that run in the background: `--no-wait`, `%distributed wait` and `%distributed output`."""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

from IPython.display import publish_display_data

from dtrain_lab.api.cluster import Cluster
from dtrain_lab.api.portal import Portal
from dtrain_lab.errors import NotFound
from dtrain_lab.kernel.output.cell_display import CellDisplay
from dtrain_lab.wire import clients
from dtrain_lab.wire.cells import CellRecord, CellResult, Output

OUTPUT, WAIT = "%distributed output", "%distributed wait"
OUTPUTS = 5000
"""Outputs that one request reads from the journal."""


class CurrentCluster(Protocol):
    """Which cluster the magics are for."""

    portal: Portal
    notebook: str | None

    def read_from(self) -> Cluster:
        """Return the cluster for a command that takes what the notebook has left there."""


class BackgroundCells:
    """Cells that this kernel started with --no-wait and has not waited for.

    Args:
        shell: The kernel's shell.
        session: Knows the cluster of the magics.
    """

    def __init__(self, shell: Any, session: CurrentCluster) -> None:
        self._shell = shell
        self._session = session
        self._waiting: list[tuple[Cluster, str]] = []

    def start(self, target: Cluster, order: clients.Run) -> None:
        """Start a cell and return at once.

        Args:
            target: The cluster.
            order: The cell, which is detached.
        """
        self._session.portal.call(target.start_order(order))
        self._waiting.append((target, order.cell))
        # it stays below the cell after the end: true then, too
        print(f"Cell {order.label} was started in the background. Its output: {OUTPUT}; to follow it: {WAIT}")

    def wait(self) -> None:
        """Wait for the cells: show their output from the start, and raise their errors.

        Raises:
            CellFailed: A cell failed on a rank.
            NotFound: No cell was started, or its cluster no longer knows it.
        """
        waiting, self._waiting = self._waiting or [self._last()], []
        for position, (target, cell) in enumerate(waiting):
            self._waiting = waiting[position + 1 :]  # kept where this one fails
            record = self._record(target, cell)
            shown = CellDisplay(self._shell, self._session.portal, target, cell, record.ranks, by_rank=False)
            try:
                result = shown.until_end(partial(target.follow, cell), wait_only=True)
            except KeyboardInterrupt:
                self._waiting = waiting[position:]
                print(f"Cell {record.cell} keeps running. To stop it: %distributed interrupt")
                return
            shown.raise_failure(result)

    def output(self) -> None:
        """Show the output so far of the last cell.

        Raises:
            NotFound: No cell was started, or its cluster no longer knows it.
        """
        target, cell = self._waiting[-1] if self._waiting else self._last()
        record = self._record(target, cell)
        outputs: list[Output] = []
        while True:
            after = outputs[-1].seq if outputs else record.first_seq - 1
            more: list[Output] = self._session.portal.call(
                target.ask(clients.ReadOutput(after, OUTPUTS, cell))
            )
            outputs += more
            if len(more) < OUTPUTS:
                break
        CellDisplay(self._shell, self._session.portal, target, cell, record.ranks, by_rank=False).at_once(
            outputs
        )
        if record.result is None:
            print(f"Cell {record.cell} is {record.state}.")
        elif record.result.sentence:
            _show_failure(record.result)

    def _record(self, target: Cluster, cell: str) -> CellRecord:
        match = next(
            (record for record in self._session.portal.call(target.cells()) if record.id == cell), None
        )
        if match is None:
            raise NotFound("The cluster no longer knows this cell.", "Its cluster may have been restarted.")
        return match

    def _last(self) -> tuple[Cluster, str]:
        """Return this notebook's last --no-wait cell, also if an earlier kernel started it."""
        target = self._session.read_from()
        detached = [record for record in self._session.portal.call(target.cells()) if record.detached]
        mine = [record for record in detached if record.notebook == self._session.notebook] or detached
        if not mine:
            raise NotFound("No cell was started with --no-wait.", "Start one: %%distributed --no-wait")
        return target, mine[-1].id


def _show_failure(result: CellResult) -> None:
    """Show how a cell failed: as text, which the page replaces by the state in the bar."""
    said = [{"code": part.code, "values": part.values} for part in result.said]
    ended = {"interrupted": result.interrupted, "said": said}
    publish_display_data({"text/plain": result.sentence}, {"dtrain": {"ended": ended}})
