"""What a cell prints is shown while the cell runs, and a flush asked for in a handler does not wait."""

from __future__ import annotations

import signal
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from io import StringIO
from itertools import groupby
from typing import Any

import pytest
import zmq
from ipykernel.iostream import IOPubThread, OutStream
from jupyter_client.session import Session

from dtrain_lab.rank.output.outbox import Outbox
from dtrain_lab.rank.output.routing import route_output
from dtrain_lab.rank.output.streams import RankStream
from dtrain_lab.wire import links
from dtrain_lab.wire.links import CellOutput, CellReply
from tests.waiting import wait_until


class Memory:
    """Shared memory with room for all."""

    space = 1 << 30
    written = 0

    def write(self, data: bytes, *, taken: bool) -> None:
        self.written += len(data)

    def match(self, written: int) -> None:
        self.written = written

    def confirm(self, through: int) -> None:
        """Free nothing."""


class Channel:
    """Keeps what was sent."""

    def __init__(self) -> None:
        self.messages: list[Any] = []

    def send(self, messages: list[bytes]) -> None:
        self.messages += map(links.decode_to_head, messages)

    @property
    def text(self) -> str:
        return "".join(m.text for m in self.messages if hasattr(m, "text"))


class Rank:
    """A rank's stdout and stderr, and the channel to its head."""

    def __init__(self, thread: IOPubThread) -> None:
        session = Session(key=b"")
        self.channel = Channel()
        self.loop = thread.io_loop.asyncio_loop
        self.stream, self.stderr = (RankStream(session, thread, name) for name in ("stdout", "stderr"))
        for stream in (self.stream, self.stderr):
            stream._should_watch = False
            stream.flush_interval = 0.002
            stream.set_parent({"header": {"msg_id": "c", "dtrain_cell": "c"}})
        self.outbox = Outbox(self.loop)
        route_output(session, thread.background_socket, 0, self.outbox)
        opened = threading.Event()

        def open_it() -> None:
            self.stream.begin_count()
            self.stderr.begin_count()
            self.outbox.open(self.channel)  # type: ignore[arg-type]
            opened.set()

        self.loop.call_soon_threadsafe(open_it)
        assert opened.wait(10)


@pytest.fixture(scope="module")
def iopub() -> Iterator[IOPubThread]:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    socket = context.socket(zmq.PUB)
    socket.bind("inproc://output")
    thread = IOPubThread(socket)
    thread.start()
    yield thread
    # ipykernel closes the loop before this task has ended, and asyncio would warn in another test
    task = thread._event_pipe_gc_task
    thread.io_loop.add_callback(task.cancel)
    wait_until(task.done, 30, "the task to end")
    thread.stop()
    thread.close()
    context.term()


@pytest.fixture
def rank(iopub: IOPubThread, monkeypatch: pytest.MonkeyPatch) -> Rank:
    for name, value in vars(RankStream).copy().items():
        if name in ("straight", "write_serially"):  # set by the outbox
            monkeypatch.setattr(RankStream, name, value)
    monkeypatch.setattr(RankStream, "regions", {"stdout": Memory(), "stderr": Memory()})
    monkeypatch.setattr(RankStream, "made", {})
    monkeypatch.setattr(RankStream, "_setup_stream_redirects", lambda *_: None)
    return Rank(iopub)


def test_each_line_is_shown_though_the_cell_goes_on(rank: Rank) -> None:
    for n in range(5):
        rank.stream.write(f"{n}\n")
        wait_until(lambda n=n: f"{n}\n" in rank.channel.text, 10, f"line {n}")


def test_what_is_printed_below_a_finished_bar_comes_after_it(rank: Rank) -> None:
    for stream in (rank.stream, rank.stderr):
        stream.flush_interval = 60.0  # until the cell's end
    for step in (1, 2):
        rank.stderr.write(f"\r{50 * step}%")
        rank.stderr.flush()
    rank.stderr.write("\n")  # tqdm flushes the bar, and not this
    rank.stream.write("done\n")
    rank.stderr.write("warned\n")
    rank.stream.write("saved\n")
    rank.outbox.finish(CellReply("c", 0, "ok"), [rank.stream.write_out, rank.stderr.write_out])
    sent = [m for m in rank.channel.messages if isinstance(m, CellOutput)]
    shown = [(kind, "".join(m.text for m in run)) for kind, run in groupby(sent, lambda m: m.kind)]
    assert shown == [
        ("stderr", "\r50%\r100%\n"),
        ("stdout", "done\n"),
        ("stderr", "warned\n"),
        ("stdout", "saved\n"),
    ]
    # nothing is taken for text that the head has not received
    for stream in (rank.stream, rank.stderr):
        assert stream._region.written == stream._sent


def test_a_cell_that_prints_all_the_time_is_seen_to_do_so(rank: Rank) -> None:
    printed = 0

    def enough() -> bool:
        nonlocal printed
        for _ in range(100):
            rank.stream.write(f"{printed}\n")
            printed += 1
        return len(rank.channel.messages) > 5

    wait_until(enough, 20, "the lines")
    rank.stream.flush()
    wait_until(lambda: rank.channel.text.endswith(f"{printed - 1}\n"), 10, "the rest")
    assert rank.channel.text.split() == [str(n) for n in range(printed)]


def test_text_goes_before_the_reply_that_the_main_thread_sends(rank: Rank) -> None:
    for n in range(50):
        rank.stream.write(f"{n}\n")
        rank.stream._flush()  # as at a cell's end
        rank.outbox.put(CellReply(cell="c", rank=0), now=True)
        wait_until(
            lambda n=n: sum(isinstance(m, CellReply) for m in rank.channel.messages) == n + 1, 10, "it"
        )
        assert rank.channel.text.endswith(f"{n}\n")
        assert isinstance(rank.channel.messages[-1], CellReply)


def test_a_handler_that_prints_with_a_flush_while_a_reply_leaves_does_not_wait(rank: Rank) -> None:
    usual, took = rank.channel.send, []

    def send(messages: list[bytes]) -> None:
        rank.channel.send = usual  # type: ignore[method-assign]
        rank.stream.flush_timeout = 5
        rank.stream.write("tick\n")
        thread = threading.Thread(target=rank.stream.flush)
        thread.start()
        thread.join(4)
        took.append(not thread.is_alive())
        usual(messages)

    rank.channel.send = send  # type: ignore[method-assign]
    rank.outbox.put(CellReply(cell="c", rank=0), now=True)
    assert took == [True]
    wait_until(lambda: "tick" in rank.channel.text, 10, "the handler's text")


def test_a_handler_that_flushes_amid_a_write_does_not_wait_for_its_own_thread(rank: Rank) -> None:
    stream = rank.stream
    usual = stream._buffers
    took = []

    class Interrupted(dict[Any, Any]):
        """Buffers, in whose lock a signal handler is called."""

        def __missing__(self, parent: Any) -> Any:
            stream._buffers = usual
            began = time.monotonic()
            stream.write("tick\n")
            stream.flush()
            took.append(time.monotonic() - began)
            return usual[parent]

    stream.flush_timeout = 5
    stream._buffers = Interrupted()
    stream.write("text\n")
    assert took[0] < 4
    stream.flush()
    wait_until(lambda: rank.channel.text == "tick\ntext\n", 10, "both")


def test_an_interrupt_in_a_write_leaves_flushes_that_wait(
    rank: Rank, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(set[int]):
        def add(self, thread: int) -> None:
            super().add(thread)
            raise KeyboardInterrupt

    writers = Interrupted()
    monkeypatch.setattr(RankStream, "writers", writers)
    with pytest.raises(KeyboardInterrupt):
        rank.stream.write("a line\n")
    assert not writers, "its thread is no longer taken for one that a handler has interrupted"


def test_text_whose_write_was_interrupted_is_not_taken_for_text_that_is_still_to_come(
    rank: Rank, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    rank.stream.write("before\n")
    with monkeypatch.context() as patched:
        patched.setattr(OutStream, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            rank.stream.write("lost\n")
    rank.stream.write("after\n")
    rank.stream._flush()
    # perhaps within 10 ms of the last message, and then sent by the other thread
    wait_until(lambda: rank.channel.text == "before\nafter\n", 10, "the text")
    assert rank.channel.messages[-1].through == rank.stream._region.written == len(rank.channel.text)


def test_a_handler_that_has_interrupted_a_print_is_not_in_the_way_of_the_other_thread(rank: Rank) -> None:
    """Which has to send what the handler asks for, and to read the answer."""
    took = []

    def handler(*_: object) -> None:
        done = threading.Event()
        rank.loop.call_soon_threadsafe(rank.stream._flush)
        rank.loop.call_soon_threadsafe(done.set)
        took.append(done.wait(10))

    class Signalled(StringIO):
        """A buffer; the signal comes while text is added, under the lock of the buffers."""

        def write(self, text: str) -> int:
            signal.raise_signal(signal.SIGUSR1)
            return super().write(text)

    rank.stream._buffers = defaultdict(Signalled)
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        rank.stream.write("a line\n")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert took == [True]
    wait_until(lambda: rank.channel.text == "a line\n", 10, "the line")


def test_a_print_waits_until_the_head_has_confirmed_enough(rank: Rank) -> None:
    rank.stream._region.space = 0  # type: ignore[misc]
    thread = threading.Thread(target=rank.stream.write, args=("late\n",))
    thread.start()
    wait_until(lambda: len(rank.stream._waiting_for_space) > 0, 10, "the thread that waits")
    assert rank.channel.text == ""
    rank.stream._region.space = 1 << 20  # type: ignore[misc]
    rank.stream.confirm(0)
    thread.join(10)
    assert not thread.is_alive()
    wait_until(lambda: rank.channel.text == "late\n", 10, "the line")


def test_a_widget_closed_outside_of_cells_is_closed_for_the_cell_that_opened_it(rank: Rank) -> None:
    parent = {"header": {"msg_id": "c", "msg_type": "execute_request", "dtrain_cell": "c"}}
    send, io = rank.stream.session.send, rank.stream.pub_thread.background_socket
    opened = {"comm_id": "w", "target_name": "jupyter.widget", "data": {}}
    send(io, "comm_open", opened, parent=parent)
    # of a thread, and of the garbage collector
    send(io, "comm_msg", {"comm_id": "w", "data": {}}, parent={})
    send(io, "comm_close", {"comm_id": "w", "data": {}}, parent=None)

    def widgets() -> list[Any]:
        return [m for m in rank.channel.messages if getattr(m, "kind", "").startswith("comm_")]

    wait_until(lambda: len(widgets()) == 3, 10, "the widget's messages")
    assert [(m.kind, m.cell) for m in widgets()] == [
        ("comm_open", "c"),
        ("comm_msg", "c"),
        ("comm_close", "c"),
    ]
