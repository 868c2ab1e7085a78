"""Cells that a client runs or follows: their output callbacks, and the futures of their results."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from dtrain_lab.services.connection.pending_requests import PendingRequests
from dtrain_lab.wire import clients
from dtrain_lab.wire.cells import CellResult
from dtrain_lab.wire.links import CellOutput

LATE = 200
"""Maximum number of ended cells whose late output is still shown."""
OnOutput = Callable[[CellOutput], None]


class Followed(NamedTuple):
    """A running cell: the callback of its output, the future of its result, and what stops following it."""

    on_output: OnOutput
    done: asyncio.Future[CellResult]
    leave: Callable[[], None]


class Cells:
    """The cells of one connection.

    Args:
        pending: The requests of that connection.
    """

    def __init__(self, pending: PendingRequests) -> None:
        self._pending = pending
        self.running: dict[str, Followed] = {}
        self.shown: Counter[str] = Counter()
        """Pieces of output received of each running cell, as its head counts them."""
        self._late: dict[str, OnOutput] = {}
        self._speaking: dict[str, OnOutput] = {}
        """Output callbacks of ended cells whose widgets still produce output."""

    def begin(
        self,
        order: clients.Run | clients.Follow,
        cell: str,
        on_output: OnOutput,
        done: asyncio.Future[CellResult],
        on_end: Callable[[asyncio.Future[CellResult]], None] | None,
    ) -> clients.Request:
        """Register a cell that starts or is followed.

        Args:
            order: What is requested.
            cell: Id of the cell.
            on_output: Called with its output as it arrives.
            done: The future of its result.
            on_end: Called when that is done, before its callbacks; None for nothing.

        Returns:
            The request, to be sent.
        """

        def leave() -> None:
            if self.leave(request, cell) and on_end is not None:
                on_end(done)

        done.add_done_callback(lambda _: leave())
        self.running[cell] = Followed(on_output, done, leave)
        request = self._pending.add(order, done)
        return request

    def follow_again(self, send: Callable[[clients.Request], None]) -> None:
        """Follow the cells that run, from what was shown of them, after a lost connection is back.

        Args:
            send: Sends a request to the head.
        """
        for cell, followed in list(self.running.items()):
            request = self._pending.add(clients.Follow(cell, self.shown[cell]), followed.done)
            followed.done.add_done_callback(partial(self._forget, request.id))
            send(request)

    def _forget(self, number: int, _: asyncio.Future[CellResult]) -> None:
        self._pending.drop(number)

    def leave(self, request: clients.Request, cell: str) -> bool:
        """Stop waiting for the end of a cell.

        Args:
            request: The request that began it.
            cell: Id of the cell.

        Returns:
            Whether anybody waited.
        """
        waits = self._pending.drop(request.id)
        if waits:
            self._late[cell] = self.running.pop(cell).on_output
            del self.shown[cell]
            while len(self._late) > LATE:
                self._late.pop(next(iter(self._late)))
        return waits

    def keep_output(self, cell: str, on_output: OnOutput | None) -> None:
        """Keep receiving a cell's output after its end, because it has widgets.

        Args:
            cell: Id of the cell.
            on_output: Called with each output; None stops that.
        """
        if on_output is None:
            self._speaking.pop(cell, None)
        else:
            self._speaking[cell] = on_output

    def show(self, output: CellOutput) -> None:
        """Pass a piece of output to the cell's callback, if there is one."""
        cell = output.cell
        if cell in self.running and not output.kind.startswith("comm_"):
            self.shown[cell] += 1
        shows = self.running[cell].on_output if cell in self.running else self._late.get(cell)
        shows = shows or self._speaking.get(cell)
        if shows is not None:
            shows(output)

    def missing(self, gap: clients.OutputMissing) -> None:
        """Show a notice where pieces of a cell's output are missing."""
        if gap.cell in self.running:
            self.shown[gap.cell] += gap.pieces
            text = _missing(gap.pieces)
            output = CellOutput(cell=gap.cell, rank=gap.rank, kind="stderr", text=text)
            self.running[gap.cell].on_output(output)

    def ended(self, result: CellResult) -> None:
        """Resolve the future of a cell that has ended."""
        followed = self.running.get(result.cell)
        if followed is not None and not followed.done.done():
            followed.done.set_result(result)
            followed.leave()  # now: the future's callbacks wait for the loop's next iteration


def _missing(pieces: int) -> str:
    count = "1 piece" if pieces == 1 else f"{pieces:,} pieces"
    return (
        f"\n[{count} of output missing here: this process did not read, and more was printed meanwhile than "
        "the cluster keeps]\n"
    )
