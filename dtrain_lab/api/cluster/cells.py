"""Cells of a cluster: code that runs on its ranks."""

from __future__ import annotations

import asyncio
import itertools
import secrets

from dtrain_lab.api.connected import ConnectedCluster
from dtrain_lab.api.result import Result
from dtrain_lab.cells import rank_sets
from dtrain_lab.cells.syntax import check_source
from dtrain_lab.errors import BadRequest
from dtrain_lab.services.connection import OnOutput
from dtrain_lab.wire import clients
from dtrain_lab.wire.cells import CellRecord
from dtrain_lab.wire.links import CellOutput

_numbers = itertools.count(1)
_session = secrets.token_hex(4)


def cell_id() -> str:
    """Return a unique cell id."""
    return f"{_session}.{next(_numbers)}"


class Cells(ConnectedCluster):
    """Runs code on a cluster's ranks; part of `Cluster`."""

    def run(
        self,
        code: str,
        ranks: rank_sets.Asked = None,
        *,
        timeout: float | None = None,
        check: bool = True,
    ) -> Result:
        """Run code on ranks and wait until all of them have finished.

        If you end the wait early, the ranks are interrupted, too: with Ctrl-C, or in `run_async` by
        cancelling its task (`asyncio.wait_for`, a task group).

        Args:
            code: Code as in a cell; magics and top-level await work.
            ranks: 0, [0, 2] or "0,2-3"; None for all.
            timeout: Seconds from the start on the ranks, after which the code is interrupted.
            check: Raise an exception if a rank fails.

        Returns:
            What each rank printed, displayed and raised.

        Raises:
            BadRankSet, BadCell, Conflict: Nothing was run.
            CellFailed: A rank raised an exception, was interrupted or was lost, and `check` is true.
            Unreachable: The cluster has ended.
        """
        return self._portal.call(self.run_here(code, ranks, timeout=timeout, check=check))

    async def run_async(
        self,
        code: str,
        ranks: rank_sets.Asked = None,
        *,
        timeout: float | None = None,
        check: bool = True,
    ) -> Result:
        """Async twin of `run`.

        Args:
            code: Code as in a cell; magics and top-level await work.
            ranks: 0, [0, 2] or "0,2-3"; None for all.
            timeout: Seconds from the start on the ranks, after which the code is interrupted.
            check: Raise an exception if a rank fails.
        """
        return await self._portal.wrap(self.run_here(code, ranks, timeout=timeout, check=check))

    async def run_here(
        self,
        code: str,
        ranks: rank_sets.Asked = None,
        *,
        timeout: float | None = None,
        check: bool = True,
    ) -> Result:
        """Variant of `run` for use in the portal's loop.

        Args:
            code: Code as in a cell.
            ranks: 0, [0, 2] or "0,2-3"; None for all.
            timeout: Seconds from the start on the ranks, after which the code is interrupted.
            check: Raise an exception if a rank fails.
        """
        cell = cell_id()
        order = clients.Run(
            cell=cell,
            code=code,
            label="[ ]",
            ranks=await self.rank_set(ranks),
            timeout_s=timeout,
            source=f"{cell}.py",
        )
        check_order(code, order.label, order.first_line, timeout)
        try:
            return await self.run_order(order, check=check)
        except asyncio.CancelledError:  # an interrupt of the caller is meant to stop the code
            self._portal.post(self.interrupt_cell(cell))
            raise

    async def run_order(
        self, order: clients.Run, *, check: bool = True, on_output: OnOutput | None = None
    ) -> Result:
        """Run a cell from a request message; only in the portal's loop.

        Args:
            order: The request, checked by `check_order`.
            check: Raise an exception if a rank fails.
            on_output: Called with output as it arrives; the result then contains no output.
        """
        outputs: list[CellOutput] = []
        end = await self._connection.run(order, on_output or outputs.append)
        result = Result(end, outputs)
        if check:
            result.raise_failure()
        return result

    async def start_order(self, order: clients.Run) -> None:
        """Start a cell, checked by `check_order`, without waiting for it; only in the portal's loop."""
        await self.ask(order)

    async def follow(self, cell: str, on_output: OnOutput) -> Result:
        """Wait for a running cell, with its output from the start; only in the portal's loop.

        Args:
            cell: Id of the cell.
            on_output: Called with each piece of its output.
        """
        return Result(await self._connection.follow(cell, on_output), [])

    async def cells(self) -> list[CellRecord]:
        """Return the cells that the head knows, oldest first; only in the portal's loop."""
        records: list[CellRecord] = await self.ask(clients.ListCells())
        return records

    async def interrupt_cell(self, cell: str) -> None:
        """Interrupt one cell; only in the portal's loop."""
        await self.ask(clients.Interrupt(cell=cell))


def check_order(code: str, label: str, first_line: int, timeout: float | None) -> None:
    """Check a cell before it is sent to ranks.

    Args:
        code: Code of the cell, without the magic's line.
        label: Label of the cell.
        first_line: Line number of the code's first line, as the user counts.
        timeout: Seconds from the start on the ranks; None for no limit.

    Raises:
        BadCell: The cell is empty or has a syntax error.
        BadRequest: The time-out is not a positive number of seconds.
    """
    check_source(code, label, first_line)
    if timeout is not None and (not isinstance(timeout, int | float) or not timeout > 0):
        given = f"{timeout:g} s" if isinstance(timeout, int | float) else repr(timeout)
        raise BadRequest(f"A time-out must be longer than 0 s, not {given}.", "Give a number above 0.")
