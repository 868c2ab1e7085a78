"""What leaves through doors: at once, and from the journal for one that does not keep up.

A notebook that stops reading (its process is suspended, its network gone) must not grow the head's memory.
ZeroMQ takes so much for each door and no more; from then on the output of its cells is only in the journal,
on disk, and is read from there when the door takes it. Answers and ends of cells wait here: nobody asks
while they don't read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dtrain_lab.core.wire import doors, links
from dtrain_lab.head.journal import Journal
from dtrain_lab.head.sockets import Sent

MESSAGE_BYTES = 1 << 16
"""A message is about as large, or one frame: with the socket's limit of messages, what waits is bounded."""
READ_BYTES = 1 << 20
"""Read from the journal at once, for each cell that a door has from there."""
READS = 4
"""So often in one turn of the loop: other doors, and ranks, come between."""


@dataclass(frozen=True)
class Piece:
    """An output among those of its cell: `number` from 0, `seq` in the journal.

    What widgets say has no number of its own, but that of the piece which comes next.
    """

    cell: str
    rank: int
    number: int
    seq: int


@dataclass
class _Behind:
    """A cell that a door has from the journal.

    `next` is read next; `frames` were read and not taken; `end`: its end, and how many pieces there are.
    """

    next: Piece
    widgets: bool
    end: tuple[bytes, int] | None = None
    frames: list[bytes] = field(default_factory=list)


@dataclass
class _Leaving:
    """A frame. `piece`: the journal has it, too; `ends`: the cell whose end it is, and its pieces."""

    frame: bytes
    piece: Piece | None = None
    ends: tuple[str, int] | None = None


@dataclass
class _Outlet:
    leaving: list[_Leaving] = field(default_factory=list)
    full: bool = False
    behind: dict[str, _Behind] = field(default_factory=dict)


class Outlets:
    """All doors that something leaves through.

    Args:
        send: gives a door one message of some frames.
        journal: has what doors do not take.
        soon: called when something waits to leave in this turn of the loop.
    """

    def __init__(
        self, send: Callable[[bytes, list[bytes]], Sent], journal: Journal, soon: Callable[[], None]
    ) -> None:
        self._send = send
        self._journal = journal
        self._soon = soon
        self._outlets: dict[bytes, _Outlet] = {}

    @property
    def full(self) -> bool:
        """Some door takes nothing now."""
        return any(o.full for o in self._outlets.values())

    @property
    def unfinished(self) -> bool:
        """Some door that takes what comes has not all of it yet: another flush brings more."""
        return any(o.behind and not o.full for o in self._outlets.values())

    def takes(self, door: bytes, cell: str = "") -> bool:
        """It keeps up, with this cell's output where one is named."""
        outlet = self._outlets.get(door)
        return outlet is None or not (outlet.full or cell in outlet.behind)

    def say(self, door: bytes, frame: bytes) -> None:
        """Send what must arrive."""
        self._add(door, _Leaving(frame))

    def output(self, door: bytes, frame: bytes, piece: Piece) -> None:
        """Send an output that the journal has, too."""
        outlet = self._outlets.get(door)
        if outlet is None or piece.cell not in outlet.behind:
            self._add(door, _Leaving(frame, piece=piece))

    def ended(self, door: bytes, cell: str, frame: bytes, pieces: int) -> None:
        """Send a cell's end, after all of its output."""
        self._add(door, _Leaving(frame, ends=(cell, pieces)))

    def replay(self, door: bytes, first: Piece, end: tuple[bytes, int] | None) -> None:
        """Send a cell's output from a piece on, and its end where it has ended."""
        outlet = self._outlets.setdefault(door, _Outlet())
        outlet.behind[first.cell] = _Behind(first, widgets=False, end=end)
        self._soon()

    def flush(self, *, again: bool = False) -> None:
        """Send what has gathered, and some of what comes from the journal: while `unfinished`, not all of it.

        Args:
            again: also try doors that took nothing the last time.
        """
        for door, outlet in list(self._outlets.items()):
            if outlet.full and not again:
                continue
            outlet.full = False
            there = self._leave(door, outlet)
            for cell, behind in list(outlet.behind.items()):
                for _ in range(READS):
                    if there and not outlet.full and cell in outlet.behind:
                        there = self._go_on(door, outlet, behind)
            if not there or not (outlet.leaving or outlet.full or outlet.behind):
                del self._outlets[door]

    def _add(self, door: bytes, leaving: _Leaving) -> None:
        outlet = self._outlets.setdefault(door, _Outlet())
        outlet.leaving.append(leaving)
        if outlet.full or (leaving.ends is not None and leaving.ends[0] in outlet.behind):
            _leave_to_journal(outlet)
        elif len(outlet.leaving) == 1:
            self._soon()

    def _leave(self, door: bytes, outlet: _Outlet) -> bool:
        """Send what waits, as far as the door takes it; False: nobody is there any more."""
        left, there = self._sent(door, outlet, [x.frame for x in outlet.leaving])
        del outlet.leaving[: len(outlet.leaving) - left]
        if outlet.full:
            _leave_to_journal(outlet)
        return there

    def _go_on(self, door: bytes, outlet: _Outlet, behind: _Behind) -> bool:
        """Send some of a cell from the journal; False: nobody is there any more."""
        if not behind.frames:
            self._read(behind)
        left, there = self._sent(door, outlet, behind.frames)
        del behind.frames[: len(behind.frames) - left]
        if not left and behind.next.seq >= self._journal.next:
            del outlet.behind[behind.next.cell]
            if behind.end is not None:
                frame, pieces = behind.end
                lost = [_missing(behind.next, pieces)] if pieces > behind.next.number else []
                outlet.leaving += [_Leaving(f) for f in (*lost, frame)]
                return self._leave(door, outlet)
        return there

    def _sent(self, door: bytes, outlet: _Outlet, frames: list[bytes]) -> tuple[int, bool]:
        """Send frames in messages; returns how many are left, and whether somebody is there."""
        at = 0
        while at < len(frames):
            count = _message(frames, at)
            sent = self._send(door, frames[at : at + count])
            if sent != "sent":
                outlet.full = sent == "full"
                return len(frames) - at, sent != "gone"
            at += count
        return 0, True

    def _read(self, behind: _Behind) -> None:
        piece = behind.next
        found, last = self._journal.raw(piece.seq - 1, piece.cell, READ_BYTES)
        number, rank = piece.number, piece.rank
        for entry in found:
            if entry.piece < 0:  # of a widget
                if behind.widgets:
                    behind.frames.append(links.encode(entry.output))
            elif entry.piece >= number:
                rank = entry.output.rank
                if entry.piece > number:
                    behind.frames.append(_missing(Piece(piece.cell, rank, number, 0), entry.piece))
                behind.frames.append(links.encode(entry.output))
                number = entry.piece + 1
        behind.next = Piece(piece.cell, rank, number, last + 1)


def _message(frames: list[bytes], at: int) -> int:
    """How many of these frames, from one on, travel together."""
    size = 0
    for count in range(len(frames) - at):
        size += len(frames[at + count])
        if size > MESSAGE_BYTES and count:
            return count
    return len(frames) - at


def _missing(following: Piece, number: int) -> bytes:
    return doors.encode(doors.OutputMissing(following.cell, following.rank, number - following.number))


def _leave_to_journal(outlet: _Outlet) -> None:
    """Output that waits is dropped here: the journal has it. An end follows the output of its cell."""
    kept = []
    for leaving in outlet.leaving:
        if leaving.piece is not None:
            outlet.behind.setdefault(leaving.piece.cell, _Behind(leaving.piece, widgets=True))
        elif leaving.ends is not None and leaving.ends[0] in outlet.behind:
            outlet.behind[leaving.ends[0]].end = (leaving.frame, leaving.ends[1])
        else:
            kept.append(leaving)
    outlet.leaving = kept
