"""Cells on their way: from a door to ranks, and the ranks' output and replies back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from dtrain_lab.core import mismatch
from dtrain_lab.core import turns as pure
from dtrain_lab.core.cells import NO_ANSWER, blame, failure_sentence, render_failure
from dtrain_lab.core.cluster import CellRecord, CellResult, Failure, RunningCell
from dtrain_lab.core.estimate.ring import Call
from dtrain_lab.core.kinds import CellState
from dtrain_lab.core.wire import doors, links
from dtrain_lab.head.journal import Journal
from dtrain_lab.head.outlets import Outlets, Piece

KNOWN = 2000
"""Ended cells that are remembered."""


@dataclass
class Running:
    """A cell that waits for its turn, runs, or has ended. `door`: where its output goes, if anywhere."""

    order: doors.Run
    ranks: tuple[int, ...]
    source: bytes
    door: bytes | None
    left: set[int]
    asked_at: float
    first_seq: int
    began_at: float | None = None
    failures: list[Failure] = field(default_factory=list)
    timed_out: bool = False
    hopeless: str = ""
    """Why it was ended without anybody asking."""
    calls: dict[int, tuple[Call, ...]] = field(default_factory=dict)
    from_s: float = field(default_factory=time.monotonic)
    """When it was asked for, then when it began, by a clock that nobody sets."""
    silent: set[int] = field(default_factory=set)
    """Ranks that do not answer its interrupt."""
    result: CellResult | None = None
    pieces: int = 0
    """Outputs so far, without what widgets said."""

    @property
    def end(self) -> tuple[bytes, int] | None:
        """What tells a door of its end, and how many pieces came before."""
        return (doors.encode(doors.CellEnded(self.result)), self.pieces) if self.result is not None else None

    @property
    def state(self) -> CellState:
        """Where it stands."""
        if self.result is not None:
            return "ended"
        return "waiting" if self.began_at is None else "running"


class Cells:
    """All cells of a world.

    Args:
        journal: keeps what they print.
        to_rank: sends an order to a rank.
        outlets: what leaves through doors.
        began: called when ranks were told to run a cell.
    """

    def __init__(
        self,
        journal: Journal,
        to_rank: Callable[[int, links.Message], None],
        outlets: Outlets,
        began: Callable[[str, tuple[int, ...]], None],
    ) -> None:
        self._journal = journal
        self._to_rank = to_rank
        self._outlets = outlets
        self._began = began
        self._cells: dict[str, Running] = {}
        self._ended: dict[str, Running] = {}
        self._turns = pure.Turns()
        self._pending: list[pure.Turn] = []
        """Whose turn it is, and who have not begun because the world is not ready."""
        self._others: dict[str, Callable[[], None]] = {}
        """Turns that are no cells, and what to call when they begin."""

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
        """Some cell runs or waits."""
        return bool(self._cells)

    def get(self, cell: str) -> Running | None:
        """A cell that has not ended."""
        return self._cells.get(cell)

    def records(self) -> list[CellRecord]:
        """Cells that are known, oldest first."""
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
            )
            for c in sorted((*self._ended.values(), *self._cells.values()), key=lambda c: c.asked_at)
        ]

    def of_rank(self, rank: int) -> Running | None:
        """The cell that a rank runs."""
        return next((c for c in self._cells.values() if c.began_at is not None and rank in c.left), None)

    def add(self, order: doors.Run, ranks: tuple[int, ...], door: bytes, *, ready: bool) -> None:
        """Queue a cell; it begins when its ranks are free and the world is ready."""
        shown_to = None if order.detached else door
        cell = Running(order, ranks, door, shown_to, set(ranks), time.time(), self._journal.next)
        self._cells[order.cell] = cell
        self._take(pure.Turn(order.cell, frozenset(ranks)), ready=ready)

    def take_turn(self, turn: str, ranks: tuple[int, ...], began: Callable[[], None], *, ready: bool) -> None:
        """Queue something that is no cell; `began` is called when its ranks are its own."""
        self._others[turn] = began
        self._take(pure.Turn(turn, frozenset(ranks)), ready=ready)

    def give_turn(self, turn: str) -> None:
        """Something that is no cell has ended."""
        if self._others.pop(turn, None) is not None:
            self._turns, begun = pure.end(self._turns, turn)
            self._pending = [*self._pending, *begun]

    def others_running(self) -> list[str]:
        """What has begun and is no cell."""
        waiting = {turn.cell for turn in self._pending}
        return [t.cell for t in self._turns.running if t.cell in self._others and t.cell not in waiting]

    def go_on(self) -> None:
        """The world is ready: start the cells whose turn it is."""
        pending, self._pending = self._pending, []
        for turn in pending:
            cell = self._cells.get(turn.cell)
            if cell is not None:
                self._start(cell)
            elif turn.cell in self._others:
                self._others[turn.cell]()

    def follow(self, name: str, door: bytes, shown: int = 0) -> bool:
        """Send a door a cell's output but for some pieces, and its end now or later; False: not known."""
        cell = self._cells.get(name) or self._ended.get(name)
        if cell is None:
            return False
        self._outlets.replay(door, Piece(name, cell.ranks[0], shown, cell.first_seq), cell.end)
        if cell.result is None:
            cell.door = door
        return True

    def output(self, output: links.CellOutput, frame: bytes) -> None:
        """A rank printed or displayed something: keep it, and pass it on as it is."""
        cell = self._cells.get(output.cell) or self._ended.get(output.cell)
        widget = output.kind.startswith("comm_")
        if cell is None:
            if not widget:
                self._journal.add("?", output)
            return
        piece = Piece(output.cell, output.rank, cell.pieces, self._journal.next)
        if not widget:
            self._journal.add(cell.order.label, output, cell.pieces)
            cell.pieces += 1
        elif cell.door is not None and not self._outlets.takes(cell.door, output.cell):
            self._journal.add(cell.order.label, output, -1)
        elif cell.door is not None:
            self._outlets.say(cell.door, frame)
            return
        if cell.door is not None:
            self._outlets.output(cell.door, frame, piece)

    def reply(self, reply: links.CellReply, operation: str | None) -> None:
        """A cell ended on a rank. `operation`: the collective that it stood in when it was interrupted."""
        cell = self._cells.get(reply.cell)
        if cell is None or reply.rank not in cell.left:
            return
        if reply.kind != "ok":
            cell.failures.append(
                Failure(reply.rank, reply.kind, reply.type, reply.message, reply.frames, operation)
            )
            cell.calls[reply.rank] = reply.calls
        self._leave(cell, reply.rank)

    def lose(self, rank: int, message: str) -> None:
        """A rank will never reply."""
        cell = self.of_rank(rank)
        if cell is not None:
            cell.failures.append(Failure(rank, "lost", "RankLost", message))
            self._leave(cell, rank)

    def give_up(self, ranks: tuple[int, ...]) -> None:
        """Ranks do not answer: their cells end without them. Each keeps its turn until it is free again."""
        for cell in list(self._cells.values()):
            if cell.began_at is not None:
                cell.silent |= cell.left & set(ranks)
                self._tell_without_silent(cell)

    def called(self, rank: int, calls: tuple[Call, ...]) -> None:
        """The last collectives of a rank that has died."""
        cell = self.of_rank(rank)
        if cell is not None:
            cell.calls[rank] = calls

    def withdraw(self, cells: Iterable[str], message: str) -> None:
        """Cells that have not begun never will."""
        for name in list(cells):
            cell = self._cells.get(name)
            if cell is None or cell.began_at is not None:
                continue
            cell.failures = [Failure(r, "lost", "NotRun", message) for r in cell.ranks]
            cell.left.clear()
            self._end(cell)

    def waiting(self) -> list[str]:
        """Cells that have not begun."""
        return [name for name, c in self._cells.items() if c.began_at is None]

    def _take(self, turn: pure.Turn, *, ready: bool) -> None:
        self._turns, begun = pure.add(self._turns, turn)
        self._pending = [*self._pending, *begun]
        if ready:
            self.go_on()

    def _start(self, cell: Running) -> None:
        cell.began_at, cell.from_s = time.time(), time.monotonic()
        order = cell.order
        message = links.Execute(
            cell=order.cell,
            code=order.code,
            label=order.label,
            first_line=order.first_line,
            source=order.source,
        )
        self._began(order.cell, cell.ranks)
        for rank in cell.ranks:
            self._to_rank(rank, message)

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
        cell.door = None  # what they still print is kept in the journal
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
        if ended:
            self._abort_behind(cell)

    def _tell(self, cell: Running) -> None:
        """A cell has its result."""
        name = cell.order.cell
        failures = blame(cell.failures)
        sentence = _sentence(cell, failures)
        cell.result = CellResult(
            cell=name,
            ranks=cell.ranks,
            failures=failures,
            sentence=sentence,
            elapsed_s=time.monotonic() - cell.from_s,
            timed_out=cell.timed_out,
            traceback=tuple(render_failure(failures, sentence)) if failures else (),
        )
        if cell.door is not None and cell.end is not None:
            self._outlets.ended(cell.door, name, *cell.end)

    def _abort_behind(self, cell: Running) -> None:
        """Those that the same door has queued are not run where this one failed."""
        if cell.result and cell.result.failures and cell.order.aborts and cell.began_at is not None:
            behind = [n for n, c in self._cells.items() if c.source == cell.source and c.order.aborts]
            self.withdraw(behind, f"cell {cell.order.label} before it failed.")


def _sentence(cell: Running, failures: Sequence[Failure]) -> str:
    if not failures:
        return ""
    if any(f.type == "NotRun" for f in failures):
        return f"The cell did not run: {failures[0].message}"
    text = failure_sentence(failures, cell.ranks)
    differs = mismatch.find(cell.calls)
    if differs is not None and differs.text not in cell.hopeless:  # what they died of
        text = f"{differs.text} {text}"
    if cell.hopeless:
        return f"{cell.hopeless} {text}"
    if cell.timed_out:
        return f"The cell took longer than {cell.order.timeout_s:g} s. {text}"
    return text
