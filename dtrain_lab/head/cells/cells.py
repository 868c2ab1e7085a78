"""Cells of a cluster: queued, started on ranks, their output and replies passed to clients."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial

from dtrain_lab.cells.errors import NO_ANSWER
from dtrain_lab.head.cells.cell_queue import CellQueue
from dtrain_lab.head.cells.cell_registry import CellRegistry
from dtrain_lab.head.cells.client_queues import ClientQueues, Piece
from dtrain_lab.head.cells.journal import Journal
from dtrain_lab.head.cells.running_cell import RESTARTED, Running
from dtrain_lab.wire import clients, links
from dtrain_lab.wire.cells import Failure
from dtrain_lab.wire.endings import Ending
from dtrain_lab.wire.metrics.collective import CollectiveCall
from dtrain_lab.wire.metrics.diagnosis import Change


class Cells(CellRegistry):
    """All cells of a world: takes them in, and follows them to their end.

    Args:
        journal: Keeps the cells' output.
        to_ranks: Sends a message to ranks.
        client_queues: Output queues of the clients.
        began: Called with a cell's id and ranks once the ranks were told to run it.
        can_begin: Whether the world lets a cell on these ranks begin now.
        rests: Called with whether nothing runs or waits, when that may have changed.
    """

    def __init__(
        self,
        journal: Journal,
        to_ranks: Callable[[Iterable[int], links.Message], None],
        client_queues: ClientQueues,
        began: Callable[[str, tuple[int, ...]], None],
        can_begin: Callable[[frozenset[int]], bool],
        rests: Callable[[bool], None],
    ) -> None:
        super().__init__(CellQueue(can_begin))
        self._journal = journal
        self._to_ranks = to_ranks
        self._client_queues = client_queues
        self._began = began
        self._rests = rests
        self._views: set[str] = set()
        """Locks that views hold or wait for."""

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
        self._enqueue(cell)

    def diagnose(
        self, order: clients.Run, ranks: tuple[int, ...], client: bytes, change: Change | None = None
    ) -> Running:
        """Queue a diagnosis, as a cell is; what its steps print goes to the journal only.

        Args:
            order: Describes it as a cell, without code.
            ranks: All ranks.
            client: The client that asked.
            change: Advice to try; None to diagnose.
        """
        now, first = time.time(), self._journal.next
        cell = Running(order, ranks, client, None, set(ranks), now, first, timings={}, change=change)
        self._enqueue(cell)
        return cell

    def _enqueue(self, cell: Running) -> None:
        self._cells[cell.order.cell] = cell
        self._rests(False)
        self._queue.add(cell.order.cell, cell.ranks, partial(self._start, cell))

    def acquire_ranks(self, lock: str, ranks: tuple[int, ...], began: Callable[[], None]) -> None:
        """Queue a view's calls, which run like a cell.

        Args:
            lock: Name of the view's lock.
            ranks: Ranks that it needs.
            began: Called once the ranks are reserved for it.
        """
        self._views.add(lock)
        self._rests(False)
        self._queue.add(lock, ranks, began)

    def release_ranks(self, lock: str) -> None:
        """A view's calls have ended: free its ranks."""
        if lock in self._views:
            self._views.discard(lock)
            self._queue.end(lock)
            self._rests(not self.busy)

    def running_views(self) -> list[str]:
        """Locks that views hold."""
        return [lock for lock in self._queue.begun if lock in self._views]

    def go_on(self) -> None:
        """Start the pending cells that the world lets begin."""
        self._queue.go_on()

    def follow(self, name: str, client: bytes, shown: int = 0) -> bool:
        """Send a client a cell's output and end, past and future.

        Args:
            name: Id of the cell.
            client: The client.
            shown: Number of outputs that the client already has.

        Returns:
            Whether the cell is known.
        """
        cell = self.find(name)
        if cell is None:
            return False
        first = Piece(name, cell.ranks[0], shown, cell.first_seq)
        self._client_queues.replay(client, first, cell.end, widgets=cell.order.detached)
        if cell.result is None or cell.order.detached:  # an ended cell's widgets still send messages
            cell.client = client
        return True

    def output(self, output: links.CellOutput, frame: bytes) -> None:
        """A rank printed or displayed something: journal it, and forward the frame unchanged.

        Args:
            output: The decoded message.
            frame: The same message as it arrived, which is what clients get.
        """
        cell = self.find(output.cell)
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
            cell.client is not None and not self._client_queues.keeps_up(cell.client, output.cell)
        ):
            self._journal.add(cell.order.label, output, -1)
        if widget and cell.client is not None and self._client_queues.keeps_up(cell.client, output.cell):
            self._client_queues.send(cell.client, frame)
            return
        if cell.client is not None:
            self._client_queues.output(cell.client, frame, piece)

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
        if reply.timings is not None and cell.timings is not None:
            cell.timings[reply.rank] = reply.timings
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
        """End the cells of unresponsive ranks without them. The ranks stay reserved until they are free."""
        for cell in list(self._cells.values()):
            if cell.began_at is not None:
                cell.silent |= cell.left & set(ranks)
                self._tell_without_silent(cell)

    def called(self, rank: int, calls: tuple[CollectiveCall, ...]) -> None:
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
        if cell.timings is not None:
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
        self._queue.narrow(cell.order.cell, cell.left)

    def _end(self, cell: Running) -> None:
        ended = cell.result is None
        del self._cells[cell.order.cell]
        if ended:
            self._tell(cell)
        self._remember(cell)
        self._queue.end(cell.order.cell)
        self._rests(not self.busy)
        if ended:
            self._abort_behind(cell)

    def _tell(self, cell: Running) -> None:
        """Set a cell's result, and tell its client."""
        cell.finish()
        if cell.client is not None and cell.end is not None:
            self._client_queues.ended(cell.client, cell.order.cell, *cell.end)
        for tell in cell.on_end:
            tell()

    def _abort_behind(self, cell: Running) -> None:
        """Abort the cells that the same client queued behind a failed one."""
        if cell.result and cell.result.failures and cell.order.aborts and cell.began_at is not None:
            behind = [n for n, c in self._cells.items() if c.source == cell.source and c.order.aborts]
            self.withdraw(behind, f"Cell {cell.order.label}, queued before it, failed.")
