"""Cells of a cluster: queued, started on ranks, their output and replies passed to clients."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial

from dtrain_lab.cells.errors import NO_ANSWER
from dtrain_lab.head.cells.client_queues import Outlets, Piece
from dtrain_lab.head.cells.journal import Journal
from dtrain_lab.head.cells.known_cells import KnownCells
from dtrain_lab.head.cells.running_cell import RESTARTED, Running
from dtrain_lab.head.cells.turn_queue import TurnQueue
from dtrain_lab.wire import clients, links
from dtrain_lab.wire.cells import Failure
from dtrain_lab.wire.endings import Ending
from dtrain_lab.wire.metrics.collective import Call
from dtrain_lab.wire.metrics.diagnosis import Change


class Cells(KnownCells):
    """All cells of a world: takes them in, and follows them to their end.

    Args:
        journal: Keeps the cells' output.
        to_ranks: Sends a message to ranks.
        outlets: Output queues of the clients.
        began: Called with a cell's id and ranks once the ranks were told to run it.
        can_begin: Whether the world lets a turn on these ranks begin now.
        rests: Called with whether nothing runs or waits, when that may have changed.
    """

    def __init__(
        self,
        journal: Journal,
        to_ranks: Callable[[Iterable[int], links.Message], None],
        outlets: Outlets,
        began: Callable[[str, tuple[int, ...]], None],
        can_begin: Callable[[frozenset[int]], bool],
        rests: Callable[[bool], None],
    ) -> None:
        super().__init__(TurnQueue(can_begin))
        self._journal = journal
        self._to_ranks = to_ranks
        self._outlets = outlets
        self._began = began
        self._rests = rests
        self._views: set[str] = set()
        """Turns of views' calls."""

    @property
    def busy(self) -> bool:
        """Whether any cell or view's call runs or waits."""
        return bool(self._cells or self._views)

    def add(self, order: clients.Run, ranks: tuple[int, ...], client: bytes) -> None:
        """Queue a cell; it starts when its ranks are free and the world lets it.

        Args:
            order: The client's request.
            ranks: Checked ranks of the cell.
            client: The client, which gets the output unless the cell is detached.
        """
        shown_to = None if order.detached else client
        cell = Running(order, ranks, client, shown_to, set(ranks), time.time(), self._journal.next)
        self._queue(cell)

    def diagnose(
        self, order: clients.Run, ranks: tuple[int, ...], client: bytes, change: Change | None = None
    ) -> Running:
        """Queue a diagnosis, which takes a turn like a cell; what its steps print goes to the journal only.

        Args:
            order: Describes it as a cell, without code.
            ranks: All ranks.
            client: The client that asked.
            change: Advice to try; None to diagnose.
        """
        now, first = time.time(), self._journal.next
        cell = Running(order, ranks, client, None, set(ranks), now, first, reports={}, change=change)
        self._queue(cell)
        return cell

    def _queue(self, cell: Running) -> None:
        self._cells[cell.order.cell] = cell
        self._rests(False)
        self._turns.add(cell.order.cell, cell.ranks, partial(self._start, cell))

    def take_turn(self, turn: str, ranks: tuple[int, ...], began: Callable[[], None]) -> None:
        """Queue a view's call, which takes a turn like a cell.

        Args:
            turn: Name of the turn.
            ranks: Ranks that it needs.
            began: Called once the ranks are reserved for it.
        """
        self._views.add(turn)
        self._rests(False)
        self._turns.add(turn, ranks, began)

    def give_turn(self, turn: str) -> None:
        """A view's call has ended: free its ranks."""
        if turn in self._views:
            self._views.discard(turn)
            self._turns.end(turn)
            self._rests(not self.busy)

    def running_views(self) -> list[str]:
        """Turns of views' calls that have started."""
        return [turn for turn in self._turns.begun if turn in self._views]

    def go_on(self) -> None:
        """Start the pending turns that the world lets begin."""
        self._turns.go_on()

    def follow(self, name: str, client: bytes, shown: int = 0) -> bool:
        """Send a client a cell's output and end, past and future.

        Args:
            name: Id of the cell.
            client: The client.
            shown: Number of outputs that the client already has.

        Returns:
            Whether the cell is known.
        """
        cell = self.known(name)
        if cell is None:
            return False
        first = Piece(name, cell.ranks[0], shown, cell.first_seq)
        self._outlets.replay(client, first, cell.end, widgets=cell.order.detached)
        if cell.result is None or cell.order.detached:  # an ended cell's widgets still send messages
            cell.client = client
        return True

    def output(self, output: links.CellOutput, frame: bytes) -> None:
        """A rank printed or displayed something: journal it, and forward the frame unchanged.

        Args:
            output: The decoded message.
            frame: The same message as it arrived, which is what clients get.
        """
        cell = self.known(output.cell)
        widget = output.kind.startswith("comm_")
        if cell is None:
            if not widget:
                self._journal.add("?", output)
            return
        piece = Piece(output.cell, output.rank, cell.pieces, self._journal.next)
        if not widget:
            self._journal.add(cell.order.label, output, cell.pieces)
            cell.pieces += 1
        elif cell.order.detached or (
            cell.client is not None and not self._outlets.takes(cell.client, output.cell)
        ):
            self._journal.add(cell.order.label, output, -1)
        if widget and cell.client is not None and self._outlets.takes(cell.client, output.cell):
            self._outlets.say(cell.client, frame)
            return
        if cell.client is not None:
            self._outlets.output(cell.client, frame, piece)

    def reply(self, reply: links.CellReply, operation: str | None) -> None:
        """A cell ended on one rank.

        Args:
            reply: The rank's reply.
            operation: The collective that the rank was in when it was interrupted.
        """
        cell = self._cells.get(reply.cell)
        if cell is None or reply.rank not in cell.left:
            return
        if reply.kind != "ok":
            cell.failures.append(
                Failure(
                    reply.rank, reply.kind, reply.type, reply.message, reply.frames, operation, reply.detail
                )
            )
            cell.calls[reply.rank] = reply.calls
        if reply.report is not None and cell.reports is not None:
            cell.reports[reply.rank] = reply.report
        self._leave(cell, reply.rank)

    def lose(self, rank: int, message: str, *, stopped: bool = False, ending: Ending | None = None) -> None:
        """A rank was lost, or stopped with its cluster, so its cell fails on that rank.

        Args:
            rank: Number of the rank.
            message: How it ended, for the user.
            stopped: Its cluster was stopped; False for a rank that died by itself.
            ending: Who stopped the cluster; None if unknown, or if nobody did.
        """
        cell = self.of_rank(rank)
        if cell is not None:
            cell.ending = ending
            kind = RESTARTED if rank in cell.restarted else "RankLost"
            cell.failures.append(Failure(rank, "stopped" if stopped else "lost", kind, message))
            self._leave(cell, rank)

    def restart(self, ranks: tuple[int, ...]) -> None:
        """A restart replaces ranks and ends what runs: the running cells tell which variables that loses."""
        for cell in self._cells.values():
            if cell.began_at is not None:
                cell.restarted |= set(ranks)

    def give_up(self, ranks: tuple[int, ...]) -> None:
        """End the cells of unresponsive ranks without them. The ranks keep their turn until they are free."""
        for cell in list(self._cells.values()):
            if cell.began_at is not None:
                cell.silent |= cell.left & set(ranks)
                self._tell_without_silent(cell)

    def called(self, rank: int, calls: tuple[Call, ...]) -> None:
        """Note the last collectives of a rank that has died.

        Args:
            rank: Number of the rank.
            calls: Signatures of its last collectives, oldest first, to be compared with those of its peers.
        """
        cell = self.of_rank(rank)
        if cell is not None:
            cell.calls[rank] = calls

    def withdraw(self, cells: Iterable[str], message: str) -> None:
        """Remove queued cells, which end as *not run* with this message."""
        for name in list(cells):
            cell = self._cells.get(name)
            if cell is None or cell.began_at is not None:
                continue
            cell.failures = [Failure(r, "lost", "NotRun", message) for r in cell.ranks]
            cell.left.clear()
            self._end(cell)

    def _start(self, cell: Running) -> None:
        cell.began_at, cell.from_s = time.time(), time.monotonic()
        order = cell.order
        message: links.Message = links.Execute(
            cell=order.cell,
            code=order.code,
            label=order.label,
            first_line=order.first_line,
            source=order.source,
            ranks=len(cell.ranks),
        )
        if cell.reports is not None:
            message = links.Diagnose(cell=order.cell, ranks=len(cell.ranks), change=cell.change)
        self._to_ranks(cell.ranks, message)
        self._began(order.cell, cell.ranks)  # last, because the ranks already work

    def _leave(self, cell: Running, rank: int) -> None:
        cell.left.discard(rank)
        cell.silent.discard(rank)
        if not cell.left:
            self._end(cell)
        else:
            self._tell_without_silent(cell)

    def _tell_without_silent(self, cell: Running) -> None:
        if not cell.silent or cell.result is not None or not cell.left or cell.left - cell.silent:
            return
        cell.failures += [Failure(rank, "interrupted", NO_ANSWER, "") for rank in sorted(cell.silent)]
        self._tell(cell)
        self._abort_behind(cell)
        cell.client = None  # later output of the silent ranks goes to the journal only
        self._turns.keep(cell.order.cell, cell.left)

    def _end(self, cell: Running) -> None:
        ended = cell.result is None
        del self._cells[cell.order.cell]
        if ended:
            self._tell(cell)
        self._remember(cell)
        self._turns.end(cell.order.cell)
        self._rests(not self.busy)
        if ended:
            self._abort_behind(cell)

    def _tell(self, cell: Running) -> None:
        """Set a cell's result, and tell its client."""
        cell.finish()
        if cell.client is not None and cell.end is not None:
            self._outlets.ended(cell.client, cell.order.cell, *cell.end)
        for tell in cell.on_end:
            tell()

    def _abort_behind(self, cell: Running) -> None:
        """Abort the cells that the same client queued behind a failed one."""
        if cell.result and cell.result.failures and cell.order.aborts and cell.began_at is not None:
            behind = [n for n, c in self._cells.items() if c.source == cell.source and c.order.aborts]
            self.withdraw(behind, f"Cell {cell.order.label} failed before its turn.")
