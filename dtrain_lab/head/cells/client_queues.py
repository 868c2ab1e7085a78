"""Back-pressure queues to clients: output is sent at once, or from the journal to clients that fall behind.

A notebook that stops reading (a suspended process, a lost network) must not grow the head's memory. Its
socket takes a limited number of messages (ZeroMQ) or bytes (a stream). Beyond that, the output of the
client's cells is only in the journal, on disk, and is read from there once the client reads again. Answers
and cell ends are queued here; they are few, because a client that doesn't read doesn't ask either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dtrain_lab.head.cells.journal import Journal
from dtrain_lab.head.sockets import Sent
from dtrain_lab.wire import clients, links

MESSAGE_BYTES = 1 << 16
"""Approximate bytes of a message (at least one frame); with the socket's limit of messages, bounds memory."""
READ_BYTES = 1 << 20
"""Bytes read from the journal at once for each cell that is replayed to a client."""
READS = 4
"""Journal reads per loop iteration and cell, so that other clients and ranks aren't starved."""


@dataclass(frozen=True)
class Piece:
    """Position of an output: `number` counts from 0 in its cell, `seq` is its journal sequence number.

    A widget message has no number of its own: it takes that of the next output.
    """

    cell: str
    rank: int
    number: int
    seq: int


@dataclass
class _Replay:
    """A cell whose output is replayed to a client from the journal.

    `next`: the piece to read next; `frames`: read and not yet sent; `end`: the frame of the cell's end, and
    the number of pieces before it.
    """

    next: Piece
    widgets: bool
    end: tuple[bytes, int] | None = None
    frames: list[bytes] = field(default_factory=list)


@dataclass
class _QueuedFrame:
    """A queued frame.

    `piece`: its position, where the journal has it too; `ends`: the cell that it ends, and that cell's
    number of pieces.
    """

    frame: bytes
    piece: Piece | None = None
    ends: tuple[str, int] | None = None


@dataclass
class _ClientQueue:
    leaving: list[_QueuedFrame] = field(default_factory=list)
    full: bool = False
    behind: dict[str, _Replay] = field(default_factory=dict)


class ClientQueues:
    """The output queues of all clients.

    Args:
        send: Sends a client one message of several frames.
        journal: Holds the output that clients have not taken.
        soon: Called when frames are queued: schedules a flush in this loop iteration.
    """

    def __init__(
        self, send: Callable[[bytes, list[bytes]], Sent], journal: Journal, soon: Callable[[], None]
    ) -> None:
        self._send = send
        self._journal = journal
        self._soon = soon
        self._queues: dict[bytes, _ClientQueue] = {}

    @property
    def full(self) -> bool:
        """Whether any client's socket queue is full."""
        return any(o.full for o in self._queues.values())

    @property
    def unfinished(self) -> bool:
        """Whether a client that reads still has a cell to replay, so that another flush is needed."""
        return any(o.behind and not o.full for o in self._queues.values())

    def keeps_up(self, client: bytes, cell: str = "") -> bool:
        """Whether a client keeps up; with a cell, whether it gets that cell's output directly."""
        queue = self._queues.get(client)
        return queue is None or not (queue.full or cell in queue.behind)

    def send(self, client: bytes, frame: bytes) -> None:
        """Queue a frame that must arrive.

        Args:
            client: Socket identity of the client.
            frame: The encoded message. It is queued however far the client is behind.
        """
        self._add(client, _QueuedFrame(frame))

    def output(self, client: bytes, frame: bytes, piece: Piece) -> None:
        """Queue an output that the journal has too.

        Args:
            client: Socket identity of the client.
            frame: The encoded output.
            piece: Its position in the journal, from where it is read if the client falls behind.
        """
        queue = self._queues.get(client)
        if queue is None or piece.cell not in queue.behind:
            self._add(client, _QueuedFrame(frame, piece=piece))

    def ended(self, client: bytes, cell: str, frame: bytes, pieces: int) -> None:
        """Send a cell's end after all its output, at once where the client keeps up.

        Args:
            client: The client.
            cell: Id of the cell.
            frame: The frame that tells its end.
            pieces: Number of outputs before the end.
        """
        self._add(client, _QueuedFrame(frame, ends=(cell, pieces)))
        queue = self._queues[client]
        if not queue.full and not queue.behind:
            there = self._send_queued(client, queue)
            if not there or not (queue.leaving or queue.full):
                del self._queues[client]

    def replay(
        self, client: bytes, first: Piece, end: tuple[bytes, int] | None, *, widgets: bool = False
    ) -> None:
        """Send a cell's output from one piece on, and its end if it has ended.

        Args:
            client: The client.
            first: The first piece to send.
            end: The frame of the cell's end and the number of pieces before it; None while it runs.
            widgets: Also replay widget messages, all of which the journal has.
        """
        queue = self._queues.setdefault(client, _ClientQueue())
        queue.behind[first.cell] = _Replay(first, widgets=widgets, end=end)
        self._soon()

    def flush(self, *, again: bool = False) -> None:
        """Send queued frames, and a part of the replays; call again while `unfinished`.

        Args:
            again: Also try clients whose queue was full the last time.
        """
        for client, queue in list(self._queues.items()):
            if queue.full and not again:
                continue
            queue.full = False
            there = self._send_queued(client, queue)
            for cell, behind in list(queue.behind.items()):
                for _ in range(READS):
                    if there and not queue.full and cell in queue.behind:
                        there = self._go_on(client, queue, behind)
            if not there or not (queue.leaving or queue.full or queue.behind):
                del self._queues[client]

    def _add(self, client: bytes, leaving: _QueuedFrame) -> None:
        queue = self._queues.setdefault(client, _ClientQueue())
        queue.leaving.append(leaving)
        if queue.full or (leaving.ends is not None and leaving.ends[0] in queue.behind):
            _drop_journaled(queue)
        elif len(queue.leaving) == 1:
            self._soon()

    def _send_queued(self, client: bytes, queue: _ClientQueue) -> bool:
        """Send queued frames until the client's socket is full; returns whether the client is connected."""
        left, there = self._sent(client, queue, [x.frame for x in queue.leaving])
        del queue.leaving[: len(queue.leaving) - left]
        if queue.full:
            _drop_journaled(queue)
        return there

    def _go_on(self, client: bytes, queue: _ClientQueue, behind: _Replay) -> bool:
        """Send a part of a cell's replay; returns whether the client is still connected."""
        if not behind.frames:
            self._read(behind)
        left, there = self._sent(client, queue, behind.frames)
        del behind.frames[: len(behind.frames) - left]
        if not left and behind.next.seq >= self._journal.next:
            del queue.behind[behind.next.cell]
            if behind.end is not None:
                frame, pieces = behind.end
                lost = [_missing(behind.next, pieces)] if pieces > behind.next.number else []
                queue.leaving += [_QueuedFrame(f) for f in (*lost, frame)]
                return self._send_queued(client, queue)
        return there

    def _sent(self, client: bytes, queue: _ClientQueue, frames: list[bytes]) -> tuple[int, bool]:
        """Send frames in messages; returns how many are left, and whether the client is still connected."""
        at = 0
        while at < len(frames):
            count = _message(frames, at)
            sent = self._send(client, frames[at : at + count])
            if sent != "sent":
                queue.full = sent == "full"
                return len(frames) - at, sent != "gone"
            at += count
        return 0, True

    def _read(self, behind: _Replay) -> None:
        piece = behind.next
        entries, last = self._journal.raw(piece.seq - 1, piece.cell, READ_BYTES)
        number, rank = piece.number, piece.rank
        for entry in entries:
            if entry.piece < 0:  # a widget message
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
    """Number of frames, from `at` on, that go into one message."""
    size = 0
    for count in range(len(frames) - at):
        size += len(frames[at + count])
        if size > MESSAGE_BYTES and count:
            return count
    return len(frames) - at


def _missing(following: Piece, number: int) -> bytes:
    return clients.encode(clients.OutputMissing(following.cell, following.rank, number - following.number))


def _drop_journaled(queue: _ClientQueue) -> None:
    """Drop queued output that the journal has; a cell's end waits for the replay of its output."""
    remaining = []
    for leaving in queue.leaving:
        if leaving.piece is not None:
            queue.behind.setdefault(leaving.piece.cell, _Replay(leaving.piece, widgets=True))
        elif leaving.ends is not None and leaving.ends[0] in queue.behind:
            queue.behind[leaving.ends[0]].end = (leaving.frame, leaving.ends[1])
        else:
            remaining.append(leaving)
    queue.leaving = remaining
