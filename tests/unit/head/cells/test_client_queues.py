"""What leaves through clients that read, that don't, and that are gone: no socket, no clock."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dtrain_lab.head.cells import journal as journals
from dtrain_lab.head.cells.client_queues import MESSAGE_BYTES, ClientQueues, Piece
from dtrain_lab.head.cells.journal import Journal
from dtrain_lab.head.sockets import Sent
from dtrain_lab.wire import clients, links
from dtrain_lab.wire.links import CellOutput

DOOR = b"lA"


class Reader:
    """A client that takes so many messages until it reads again, and the head's end of it."""

    def __init__(self, folder: Path, room: int, **kept: int) -> None:
        self.journal = Journal(folder, **kept)
        self.queues = ClientQueues(self._send, self.journal, lambda: None)
        self.room = room
        self.there = True
        self.got: list[clients.ToClient] = []
        self.pieces: dict[str, int] = {}
        self.sizes: list[int] = []

    def close(self) -> None:
        """Close its journal."""
        self.journal.close()

    def _send(self, client: bytes, frames: list[bytes]) -> Sent:
        assert client == DOOR
        if not self.there:
            return "gone"
        if not self.room:
            return "full"
        self.room -= 1
        self.sizes.append(sum(map(len, frames)) if len(frames) > 1 else 0)
        self.got += [clients.decode_to_client(frame) for frame in frames]
        return "sent"

    def prints(self, cell: str, text: str) -> None:
        """As `head.cells.cells` does with an output."""
        output, number = CellOutput(cell, 1, "stdout", text), self.pieces.get(cell, 0)
        piece = Piece(cell, 1, number, self.journal.next)
        self.journal.add("[1]", output, number)
        self.pieces[cell] = number + 1
        self.queues.output(DOOR, links.encode(output), piece)

    def ends(self, cell: str) -> None:
        """A frame that stands for a cell's end."""
        self.queues.ended(DOOR, cell, said(cell), self.pieces.get(cell, 0))

    def reads_all(self) -> None:
        """The client takes whatever comes; flushed as the head does it."""
        self.room = 1 << 30
        self.queues.flush(again=True)
        while self.queues.unfinished:
            self.queues.flush()
        assert not self.queues._queues

    def texts(self, cell: str) -> list[str]:
        """What the client has of a cell, and its end."""
        found = []
        for message in self.got:
            if isinstance(message, CellOutput) and message.cell == cell:
                found.append(message.text)
            elif isinstance(message, clients.OutputMissing) and message.cell == cell:
                found.append(f"missing {message.pieces}")
            elif isinstance(message, clients.Answer) and message.result.decode() == cell:
                found.append("end")
        return found


def said(text: str) -> bytes:
    """Some frame that must arrive."""
    return clients.encode(clients.Answer(0, text.encode()))


DOES = st.one_of(
    st.tuples(st.just("print"), st.sampled_from("ab")),
    st.tuples(st.just("end"), st.sampled_from("ab")),
    st.tuples(st.just("say"), st.just("")),
    st.tuples(st.just("room"), st.integers(0, 3)),
    st.tuples(st.just("flush"), st.booleans()),
)


@given(st.lists(DOES, max_size=60))
@settings(deadline=None)
def test_each_cell_comes_whole_and_in_order_with_its_end_last(does: list[tuple[str, object]]) -> None:
    with TemporaryDirectory() as folder, closing(Reader(Path(folder), 1)) as reader:
        printed: dict[str, list[str]] = {"a": [], "b": []}
        answers = 0
        for number, (what, of) in enumerate(does):
            if what == "print" and printed[str(of)][-1:] != ["end"]:
                reader.prints(str(of), f"{number}")
                printed[str(of)].append(f"{number}")
            elif what == "end" and printed[str(of)][-1:] != ["end"]:
                reader.ends(str(of))
                printed[str(of)].append("end")
            elif what == "say":
                reader.queues.send(DOOR, said("answer"))
                answers += 1
            elif what == "room":
                reader.room = int(str(of))
            elif what == "flush":
                reader.queues.flush(again=bool(of))
        reader.reads_all()
        assert {cell: reader.texts(cell) for cell in printed} == printed
        assert len(reader.texts("answer")) == answers, "nothing twice"


def test_a_client_that_does_not_read_costs_no_memory(tmp_path: Path) -> None:
    with closing(Reader(tmp_path, 2)) as reader:
        for number in range(2000):
            reader.prints("a", f"{number} " + "x" * 1000)
            reader.queues.flush()
        assert reader.queues.full
        assert not reader.queues.keeps_up(DOOR)
        assert not reader.queues._queues[DOOR].leaving
        reader.ends("a")
        reader.reads_all()
        assert [text.split()[0] for text in reader.texts("a")] == [*map(str, range(2000)), "end"]
        assert max(reader.sizes) <= MESSAGE_BYTES
        assert reader.queues.keeps_up(DOOR)


def test_other_cells_in_between_do_not_hold_up_a_client(tmp_path: Path) -> None:
    """More of them than is read at once: nothing is sent for a while, and it goes on all the same."""
    with closing(Reader(tmp_path, 0)) as reader:
        reader.prints("a", "first")
        reader.queues.flush()
        for _ in range(90):
            reader.journal.add("[2]", CellOutput("b", 1, "stdout", "x" * 100_000))
        reader.prints("a", "last")
        reader.ends("a")
        reader.room = 1 << 30
        reader.queues.flush(again=True)
        assert reader.queues.unfinished, "this is what the test is about"
        reader.reads_all()
        assert reader.texts("a") == ["first", "last", "end"]


def test_what_the_journal_dropped_meanwhile_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "SEGMENT_BYTES", 1000)
    with closing(Reader(tmp_path, 1, most_bytes=4000)) as reader:
        for number in range(200):
            reader.prints("a", f"{number} " + "x" * 50)
            reader.queues.flush()
        reader.ends("a")
        reader.reads_all()
        first, told, *rest, end = reader.texts("a")
        assert first.startswith("0 ")
        count = int(told.removeprefix("missing "))
        assert 0 < count == 199 - len(rest)
        assert [int(text.split()[0]) for text in rest] == list(range(1 + count, 200))
        assert end == "end"


def test_a_client_that_follows_again_has_what_it_has_not_seen_and_one_that_is_gone_is_forgotten(
    tmp_path: Path,
) -> None:
    with closing(Reader(tmp_path, 1 << 30)) as reader:
        for number in range(10):
            reader.prints("a", str(number))
        reader.queues.flush()
        reader.got.clear()
        reader.queues.replay(DOOR, Piece("a", 1, 7, 0), None)
        reader.prints("a", "10")
        reader.ends("a")
        reader.queues.flush()
        assert reader.texts("a") == ["7", "8", "9", "10", "end"]
        reader.there = False
        reader.prints("a", "11")
        reader.queues.flush()
        assert not reader.queues._queues


def test_what_widgets_say_waits_on_disk_too_and_is_not_replayed_to_others(tmp_path: Path) -> None:
    with closing(Reader(tmp_path, 0)) as reader:
        reader.prints("a", "0")
        reader.queues.flush()
        assert not reader.queues.keeps_up(DOOR, "a"), "now a widget's message goes to the journal"
        output = CellOutput("a", 1, "comm_msg", "moves")
        piece = Piece("a", 1, 1, reader.journal.next)
        reader.journal.add("[1]", output, -1)
        reader.queues.output(DOOR, links.encode(output), piece)
        reader.prints("a", "1")
        reader.reads_all()
        assert reader.texts("a") == ["0", "moves", "1"]
        reader.got.clear()
        reader.queues.replay(DOOR, Piece("a", 1, 0, 0), None)
        reader.reads_all()
        assert reader.texts("a") == ["0", "1"]
        assert [o.text for o in reader.journal.read(-1, 10)] == ["0", "1"]
