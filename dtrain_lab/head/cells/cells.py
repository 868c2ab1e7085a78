"""Cells of a cluster: queued, started on ranks, their output and replies passed to clients."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from dtrain_lab.cells import queue as pure
from dtrain_lab.cells.errors import NO_ANSWER, blame, joined, own_interrupt, render_failure
from dtrain_lab.head.cells.client_queues import Outlets, Piece
from dtrain_lab.head.cells.journal import Journal
from dtrain_lab.head.cells.running_cell import RESTARTED, Running, result_parts
from dtrain_lab.wire import clients, links
from dtrain_lab.wire.cells import CellRecord, CellResult, Failure, RunningCell, WaitsFor
from dtrain_lab.wire.metrics.collective import Call
from dtrain_lab.wire.metrics.diagnosis import Change

KNOWN = 2000
"""How many ended cells are remembered."""


class Cells:
    """All cells of a world.

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
        self._journal = journal
        self._to_ranks = to_ranks
        self._outlets = outlets
        self._began = began
        self._can_begin = can_begin
        self._rests = rests
        self._cells: dict[str, Running] = {}
        self._ended: dict[str, Running] = {}
        self._turns = pure.Turns()
        self._pending: list[pure.Turn] = []
        """Turns whose ranks are free, not yet started because the world does not let them."""
        self._others: dict[str, Callable[[], None]] = {}
        """Turn of a view's call (not a cell) → the callback for its start."""

    @property
    def running(self) -> tuple[RunningCell, ...]:
        """Cells that run now."""
        return tuple(
            RunningCell(c.order.label, c.order.notebook, c.ranks, c.began_at, c.order.cell_id)
            for c in self._cells.values()
            if c.began_at is not None
        )

    @property
    def busy(self) -> bool:
        """Whether any cell or view's call runs or waits."""
        return bool(self._cells or self._others)

    @property
    def orders(self) -> list[clients.Run]:
        """Run requests of ended cells, oldest first, then of running cells."""
        began = [c.order for c in self._cells.values() if c.began_at is not None]
        return [*(c.order for c in self._ended.values()), *began]

    def known(self, cell: str) -> Running | None:
        """A cell by its id, whether it has ended or not."""
        return self._cells.get(cell) or self._ended.get(cell)

    def get(self, cell: str) -> Running | None:
        """A cell that has not ended, by its id."""
        return self._cells.get(cell)

    def place(self, run: str, label: str, notebook: str | None) -> tuple[str | None, str | None]:
        """Notebook and cell id for a stack frame; None where not known.

        Args:
            run: The head's id of the cell; empty where the rank could not tell it.
            label: The cell's name.
            notebook: Notebook of the cell that runs.
        """
        found = self.known(run)
        if found is None:
            known = (*self._ended.values(), *self._cells.values())
            mine = [c for c in known if c.order.label == label and c.order.notebook == notebook]
            found = mine[-1] if mine else None
        return (found.order.notebook, found.order.cell_id) if found is not None else (notebook, None)

    def records(self, *, last: bool = False) -> list[CellRecord]:
        """All known cells, oldest first.

        Args:
            last: Only the last run of each notebook cell.
        """
        known = sorted((*self._ended.values(), *self._cells.values()), key=lambda c: c.asked_at)
        if last:
            known = list({(c.order.notebook, c.order.kernel, c.order.cell_id): c for c in known}.values())
        return [
            CellRecord(
                id=c.order.cell,
                cell=c.order.label,
                ranks=c.ranks,
                state=c.state,
                first_seq=c.first_seq,
                notebook=c.order.notebook,
                cell_id=c.order.cell_id,
                detached=c.order.detached,
                started_at=c.began_at,
                result=c.result,
                ended_at=c.ended_at,
                waits_for=self._waits_for(c),
                kernel=c.order.kernel,
                request=c.order.request,
                failures=() if c.result is not None else blame(c.failures),
            )
            for c in known
        ]

    def _waits_for(self, cell: Running) -> tuple[WaitsFor, ...]:
        ahead = [self._cells.get(name) for name in pure.ahead_of(self._turns, cell.order.cell)]
        return tuple(WaitsFor(c.order.label, c.order.notebook) if c else WaitsFor() for c in ahead)

    def of_rank(self, rank: int) -> Running | None:
        """The cell that a rank runs."""
        return next((c for c in self._cells.values() if c.began_at is not None and rank in c.left), None)

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
        self._take(pure.Turn(cell.order.cell, frozenset(cell.ranks)))

    def take_turn(self, turn: str, ranks: tuple[int, ...], began: Callable[[], None]) -> None:
        """Queue a view's call, which takes a turn like a cell.

        Args:
            turn: Name of the turn.
            ranks: Ranks that it needs.
            began: Called once the ranks are reserved for it.
        """
        self._others[turn] = began
        self._take(pure.Turn(turn, frozenset(ranks)))

    def give_turn(self, turn: str) -> None:
        """A view's call has ended: free its ranks."""
        if self._others.pop(turn, None) is not None:
            self._turns, begun = pure.end(self._turns, turn)
            self._pending = [*self._pending, *begun]
            self._rests(not self.busy)

    def others_running(self) -> list[str]:
        """Ids of view calls that have started."""
        waiting = {turn.cell for turn in self._pending}
        return [t.cell for t in self._turns.running if t.cell in self._others and t.cell not in waiting]

    def go_on(self) -> None:
        """Start the pending turns that the world lets begin."""
        pending, self._pending = self._pending, []
        for turn in pending:
            cell = self._cells.get(turn.cell)
            if not self._can_begin(turn.ranks):
                self._pending.append(turn)
            elif cell is not None:
                self._start(cell)
            elif turn.cell in self._others:
                self._others[turn.cell]()

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
        if cell.result is None or cell.order.detached:  # its widgets still send messages
            cell.client = client
        return True

    def output(self, output: links.CellOutput, frame: bytes) -> None:
        """A rank printed or displayed something: journal it, and forward the frame unchanged."""
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

    def lose(self, rank: int, message: str, *, stopped: bool = False) -> None:
        """A rank was lost, or stopped with its cluster, so its cell fails on that rank."""
        cell = self.of_rank(rank)
        if cell is not None:
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
        """Note the last collectives of a rank that has died."""
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

    def waiting(self) -> list[str]:
        """Ids of cells that have not started."""
        return [name for name, c in self._cells.items() if c.began_at is None]

    def _take(self, turn: pure.Turn) -> None:
        self._rests(False)
        self._turns, begun = pure.add(self._turns, turn)
        self._pending = [*self._pending, *begun]
        self.go_on()

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
        self._began(order.cell, cell.ranks)  # the ranks work meanwhile

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
        self._turns, begun = pure.keep(self._turns, cell.order.cell, frozenset(cell.left))
        self._pending = [*self._pending, *begun]

    def _end(self, cell: Running) -> None:
        name = cell.order.cell
        del self._cells[name]
        ended = cell.result is None
        if ended:
            self._tell(cell)
        self._ended[name] = cell
        while len(self._ended) > KNOWN:
            self._ended.pop(next(iter(self._ended)))
        self._turns, begun = pure.end(self._turns, name)
        self._pending = [*self._pending, *begun]
        self._rests(not self.busy)
        if ended:
            self._abort_behind(cell)

    def _tell(self, cell: Running) -> None:
        """Set a cell's result, and tell its client."""
        name = cell.order.cell
        elapsed = time.monotonic() - cell.from_s
        cell.ended_at = None if cell.began_at is None else cell.began_at + elapsed
        failures = blame(cell.failures, restarted=bool(cell.restarted))
        said = result_parts(cell, failures)
        sentence = joined(said)
        interrupted = own_interrupt(failures) and not cell.timed_out and not cell.hopeless
        cell.result = CellResult(
            cell=name,
            ranks=cell.ranks,
            failures=failures,
            sentence=sentence,
            elapsed_s=elapsed,
            timed_out=cell.timed_out,
            traceback=tuple(render_failure(failures, sentence)) if failures else (),
            interrupted=interrupted,
            plain=interrupted and [part.code for part in said] == ["interrupted"],
            said=said,
        )
        if cell.client is not None and cell.end is not None:
            self._outlets.ended(cell.client, name, *cell.end)
        for tell in cell.on_end:
            tell()

    def _abort_behind(self, cell: Running) -> None:
        """Abort the cells that the same client queued behind a failed one."""
        if cell.result and cell.result.failures and cell.order.aborts and cell.began_at is not None:
            behind = [n for n, c in self._cells.items() if c.source == cell.source and c.order.aborts]
            self.withdraw(behind, f"cell {cell.order.label} before it failed.")
