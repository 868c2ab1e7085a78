"""Cells that a client runs or follows: their output callbacks, and the futures of their results."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

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
    """The cells of one connection."""

    def __init__(self) -> None:
        self.running: dict[str, Followed] = {}
        self.shown: Counter[str] = Counter()
        """Pieces of output received of each running cell, as its head counts them."""
        self._late: dict[str, OnOutput] = {}
        self._speaking: dict[str, OnOutput] = {}
        """Output callbacks of ended cells whose widgets still produce output."""

    def begin(self, cell: str, followed: Followed) -> None:
        """Register a cell that starts or is followed.

        Args:
            cell: Id of the cell.
            followed: Its callbacks, and the future of its result.
        """
        self.running[cell] = followed

    def leave(self, cell: str) -> None:
        """Stop waiting for the end of a cell."""
        self._late[cell] = self.running.pop(cell).on_output
        del self.shown[cell]
        while len(self._late) > LATE:
            self._late.pop(next(iter(self._late)))

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

    def missing(self, told: clients.OutputMissing) -> None:
        """Show a notice where pieces of a cell's output are missing."""
        if told.cell in self.running:
            self.shown[told.cell] += told.pieces
            text = _missing(told.pieces)
            output = CellOutput(cell=told.cell, rank=told.rank, kind="stderr", text=text)
            self.running[told.cell].on_output(output)

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
