"""Post-mortem debugging of a notebook's cell: ranks stop where it failed until they are continued."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from dtrain_lab.api.cluster import Cluster, cell_id
from dtrain_lab.debugger.state import Outcome
from dtrain_lab.errors import BadRequest, Conflict, DtrainError
from dtrain_lab.machine import supervision
from dtrain_lab.services.debugger.debug_session import DebugSession
from dtrain_lab.text import rank_names
from dtrain_lab.wire import clients
from dtrain_lab.wire.cells import CellRecord, Failure

PAUSED_WITHIN_S = 10.0
POLL_S = 0.05
GONE = "The ranks no longer have the error of {} cell: {}"
SINCE = "another cell has run since, or they were restarted."
AGAIN = "Run it again with the debugger on."


class PostMortem:
    """Stops ranks where a cell failed. Runs in the portal's loop.

    Args:
        debugging: The debugger of the ranks.
        runs: Id of the cell of ranks that runs, which reports its own end; empty if none does.
    """

    def __init__(self, debugging: DebugSession, runs: Callable[[], str]) -> None:
        self._debugging = debugging
        self._runs = runs
        self._at = ""
        """Id of the cell whose error is looked at; empty if none is."""
        self._over: str | None = None
        """Why no rank could stop; None while that isn't known."""
        self._before = 0
        """Number of stops before the ranks were sent there."""

    async def begin(self, target: Cluster, cell: str = "", rank: int | None = None) -> None:
        """Pause the ranks where a cell failed or was interrupted; the others stay idle.

        Does nothing while ranks are already stopped there.

        Args:
            target: The cluster that ran the cell.
            cell: The head's id of the cell; empty for the last one.
            rank: The rank to look at; None if any will do.

        Raises:
            Conflict: The ranks of another cluster or a job are debugged, or ranks are busy elsewhere, or this
                rank was continued, and others are still stopped there.
            BadRequest: The cell has not failed, or no rank has its error any more.
        """
        holds = self._debugging.holds
        if holds is not None and holds is not target.connection:
            raise Conflict(
                f"The debugger is attached to {holds.name}, and {target.name} ran this cell.",
                "Switch the debugger off first.",
            )
        busy = self._at or self._runs()
        if busy and cell in ("", busy):
            self._check_stands(rank)
            return
        if busy or self._debugging.state.paused:
            raise Conflict("The ranks are in another cell.", "Continue them, or let it end, first.")
        which = "this" if cell else "the last"
        if self._debugging.state.on:  # an interrupt or a restart has detached ranks
            await self._debugging.begin(target.connection)
        last = self._debugging.state.outcome
        size = len(self._debugging.state.ranks)
        outcome = await _earlier_outcome(target, cell, size) if cell not in ("", last.cell) else last
        if not outcome.unfinished:
            text = f"{which.capitalize()} cell has not failed."
            raise BadRequest(text, "Run a cell that does, then look at it.")
        self._at, self._over = outcome.cell or "%debug", None
        # set before the order is sent, so that a second click finds it in progress
        self._debugging.look(outcome)
        wanted = f" --cell {outcome.cell}" if outcome.cell else ""
        order = clients.Run(
            cell=cell_id(),
            code=f"%debug{wanted}",
            label="%debug",
            ranks=outcome.unfinished,
            detached=True,
            kind="post_mortem",
            failed=outcome.cell,
        )
        before = self._before = self._debugging.stops  # a rank's stop may arrive together with the answer
        try:
            await target.ask(order)
        except BaseException:  # also if the wait is cancelled: the button must work again
            self._ended(outcome, last)
            raise
        supervision.here().once("debug.postmortem", self._follow(target, order.cell, outcome, last, before))
        await self._wait_until_paused(which)

    def _check_stands(self, rank: int | None) -> None:
        """Check that a rank has not left the others where the cell failed.

        Raises:
            Conflict: It has.
        """
        paused = self._debugging.state.paused
        has_stopped = rank is not None and self._debugging.last_stops.get(rank, 0) > self._before
        if rank is None or not self._at or not has_stopped or rank in paused or not paused:
            return
        are = f"{rank_names.name(paused)} {'is' if len(paused) == 1 else 'are'}"
        raise Conflict(
            f"Rank {rank} was continued, and {are} still paused where the cell failed.",
            f"Continue {rank_names.name(paused)}, then debug rank {rank} again.",
        )

    async def _wait_until_paused(self, which: str) -> None:
        """Wait until a rank has stopped.

        Raises:
            BadRequest: No rank could.
        """
        until = asyncio.get_running_loop().time() + PAUSED_WITHIN_S
        while not self._debugging.state.paused and asyncio.get_running_loop().time() < until:
            if self._over:
                raise BadRequest(GONE.format(which, self._over), AGAIN)
            if not self._at:
                return
            await asyncio.sleep(POLL_S)

    async def _follow(
        self, target: Cluster, order: str, outcome: Outcome, last: Outcome, before: int
    ) -> None:
        """Wait until all ranks have continued.

        Args:
            target: The cluster.
            order: Id of the order to stop there.
            outcome: How the cell has ended that is looked at.
            last: How the last cell has ended.
            before: Number of stops before the order was sent.
        """
        try:
            result = await target.follow(order, lambda _: None)
            if self._debugging.stops == before:
                raised = next((f.message for f in result.failures if f.kind == "raised"), None)
                self._over = raised or (result.sentence if result.failures else SINCE)
                if outcome.cell == last.cell:  # nothing is left to look at
                    last = Outcome()
        except DtrainError:  # the cluster has ended, which its connection reports
            pass
        finally:
            self._ended(outcome, last)

    def _ended(self, outcome: Outcome, last: Outcome) -> None:
        """All ranks have continued; allow another post-mortem, unless another cell has started."""
        self._at = ""
        if self._debugging.state.on and not self._runs():
            self._debugging.cell_ended(outcome.unfinished, last)


def outcome_of(cell: str, failures: Sequence[Failure], *, failed: bool) -> Outcome:
    """Return how a cell ended, as the debugger needs it.

    Args:
        cell: The head's id of the cell.
        failures: How it failed on ranks.
        failed: Whether it failed.
    """
    raised = tuple(f.rank for f in failures if f.kind == "raised")
    # aborted: in a collective, because of another rank; their cell's sentence calls them interrupted, too
    unfinished = tuple(f.rank for f in failures if f.kind in ("raised", "interrupted", "aborted"))
    inside = {f.rank: f.operation for f in failures if f.rank in unfinished and f.operation}
    return Outcome(failed, raised, unfinished, cell, inside)


async def _earlier_outcome(target: Cluster, cell: str, size: int) -> Outcome:
    """Ask the head how an earlier cell has ended on the ranks that are left, which are `size`.

    Raises:
        BadRequest: It did not run on these ranks.
    """
    records: list[CellRecord] = await target.cells()
    result = next((r.result for r in records if r.id == cell), None)
    if result is None:
        raise BadRequest(f"This cell has not run on {target.name}.", AGAIN)
    here = [f for f in result.failures if f.rank < size]
    return outcome_of(cell, here, failed=bool(result.failures))
