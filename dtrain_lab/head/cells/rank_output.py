"""Passes ranks' output to cells: drops duplicates, fetches what a blocked or dead rank could not send."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dtrain_lab.head.cells.cells import Cells
from dtrain_lab.head.cells.output_offsets import OutputOffsets
from dtrain_lab.head.ownership.rank_routes import RankRoutes
from dtrain_lab.wire import links


class RankOutput:
    """Output of all ranks.

    Args:
        cells: The cells that the output belongs to.
        routes: Sends acknowledgements to ranks.
        ask_agent: Sends a message to the agent of a rank.
    """

    def __init__(
        self, cells: Cells, routes: RankRoutes, ask_agent: Callable[[int, links.Message], None]
    ) -> None:
        self._cells = cells
        self._routes = routes
        self._ask_agent = ask_agent
        self._confirmed = OutputOffsets()

    def received(self, message: links.CellOutput, frame: bytes) -> None:
        """A rank has printed or displayed something.

        Args:
            message: The decoded message.
            frame: The same message as it arrived; forwarded unchanged if clients lack all of it.
        """
        left = self._confirmed.not_shown(message)
        if left is not None:  # otherwise the agent has already delivered it
            self._cells.output(left, frame if left is message else links.encode(left))
        confirmation = self._confirmed.received(message)
        if confirmation is not None:
            self._routes.to_rank(message.rank, confirmation)

    def output_stalled(self, message: links.OutputStalled) -> None:
        """A rank has been silent for a while: fetch what it printed and could not send."""
        if self._confirmed.lacks(message):
            self._ask_agent(message.rank, links.ReadPendingOutput(message.rank))

    def pending_output(self, message: links.PendingOutput) -> None:
        """Output of a blocked rank, from its agent. Without a running cell, wait for the rank to send it."""
        if self._cells.of_rank(message.rank) is not None:
            self._print(message.rank, self._confirmed.pending(message))

    def exited(self, message: links.Exited) -> None:
        """Add what a dead rank had printed and not sent to the cell that it ran."""
        self._print(message.key, self._confirmed.missing(message.key, message.words, message.fault))

    def forget(self, rank: int) -> None:
        """Reset the counts of a rank whose process is gone."""
        self._confirmed.forget(rank)

    def _print(self, rank: int, texts: Iterable[tuple[str, str]]) -> None:
        cell = self._cells.of_rank(rank)
        if cell is None:
            return
        for stream, text in texts:
            output = links.CellOutput(cell=cell.order.cell, rank=rank, kind=stream, text=text)  # type: ignore[arg-type]
            self._cells.output(output, links.encode(output))
