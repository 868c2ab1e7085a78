"""What a rank sends arrives in the order in which its threads have said it, and no thread waits for it."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext

import pytest

from dtrain_lab.machine.net.streams import Stream
from dtrain_lab.machine.signals import deferred_handlers
from dtrain_lab.rank.output.outbox import Outbox
from dtrain_lab.wire import links
from dtrain_lab.wire.codec import chunks
from dtrain_lab.wire.links import CellOutput, CellReply, Message
from tests.waiting import wait_until


def output(kind: str, text: str = "", data: bytes = b"") -> CellOutput:
    return CellOutput(cell="c", rank=0, kind=kind, text=text, data=data)  # type: ignore[arg-type]


class Channel:
    """A connection that keeps what was sent."""

    def __init__(self, sends: Callable[[], None] = lambda: None) -> None:
        self._sends = sends
        self.sent: list[bytes] = []

    def send(self, messages: list[bytes]) -> None:
        sends, self._sends = self._sends, lambda: None
        sends()
        self.sent += messages

    @property
    def said(self) -> list[Message]:
        return [links.decode_to_head(message) for message in self.sent]

    @property
    def kinds(self) -> list[str]:
        return [m.kind if isinstance(m, CellOutput | CellReply) else type(m).__name__ for m in self.said]


@pytest.fixture
def iopub() -> Iterator[asyncio.AbstractEventLoop]:
    """The loop of another thread, as the IOPub thread has it."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


def opened(loop: asyncio.AbstractEventLoop, channel: object) -> Outbox:
    box = Outbox(loop)
    there(loop, lambda: box.open(channel))  # type: ignore[arg-type]
    return box


def there(loop: asyncio.AbstractEventLoop, work: Callable[[], object], within_s: float = 5.0) -> None:
    """On the other thread, and wait for it, as `print(..., flush=True)` does."""
    done = threading.Event()
    loop.call_soon_threadsafe(lambda: (work(), done.set()))
    assert done.wait(within_s), "the other thread is held up"


def elsewhere(work: Callable[..., object], *args: object) -> None:
    """On another thread, and wait for it."""
    thread = threading.Thread(target=work, args=args)
    thread.start()
    thread.join()


def test_a_flush_that_runs_does_not_overtake_what_was_posted_before() -> None:
    async def said() -> list[str]:
        channel = Channel()
        outbox = Outbox(asyncio.get_running_loop())
        outbox.open(channel)
        # a widget's message from the main thread, and text that is printed after it: the loop, which
        # has not come to the message yet, sends the text in this very iteration
        elsewhere(outbox.post, output("comm_msg"))
        outbox.put(output("stdout", "after it"), now=True)
        elsewhere(outbox.post, output("display_data"))
        await asyncio.sleep(0)
        outbox.flush()
        return channel.kinds

    assert asyncio.run(said()) == ["comm_msg", "stdout", "display_data"]


def test_a_handler_that_waits_for_the_other_thread_is_not_held_up(iopub: asyncio.AbstractEventLoop) -> None:
    """A cell's reply leaves the main thread, and a signal handler of the user's prints with a flush."""
    outboxes: list[Outbox] = []
    tick = output("stderr", "tick")
    channel = Channel(lambda: there(iopub, lambda: outboxes[0].write_out(lambda: outboxes[0].output(tick))))
    outboxes.append(opened(iopub, channel))
    outboxes[0].put(CellReply(cell="c", rank=0), now=True)
    outboxes[0].flush()
    wait_until(lambda: len(channel.sent) == 2, 10, "the tick")
    assert channel.kinds == ["ok", "stderr"]


@pytest.mark.parametrize("raises", [False, True])
def test_a_handler_that_waits_for_an_answer_runs_when_the_reply_has_left(
    iopub: asyncio.AbstractEventLoop, raises: bool
) -> None:
    """A signal handler of the user's makes a collective: it asks the head, and waits for the answer."""
    channel = Channel(lambda: signal.raise_signal(signal.SIGUSR1))
    outbox = opened(iopub, channel)

    def handler(*_: object) -> None:
        outbox.post(links.StoreCall(rank=0, id=1, operation="get", keys=("a",)), now=True)
        wait_until(lambda: "StoreCall" in channel.kinds, 10, "the call, which the other thread sends")
        if raises:
            raise TimeoutError

    undo = deferred_handlers.install()
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(TimeoutError) if raises else nullcontext():
            outbox.finish(CellReply(cell="c", rank=0), [])
        assert channel.kinds == ["ok", "StoreCall"]
        outbox.put(output("stdout", "after it"), now=True)
    finally:
        signal.signal(signal.SIGUSR1, before)
        undo()
    assert channel.kinds == ["ok", "StoreCall", "stdout"]


def test_a_finalizer_may_say_something_wherever_it_runs(iopub: asyncio.AbstractEventLoop) -> None:
    outboxes: list[Outbox] = []
    channel = Channel(lambda: outboxes[0].put(output("stderr", "closed"), now=True))
    outboxes.append(opened(iopub, channel))
    there(iopub, lambda: outboxes[0].put(output("stdout", "x"), now=True))
    wait_until(lambda: len(channel.sent) == 2, 10, "the finalizer's text")
    assert channel.kinds == ["stdout", "stderr"]


def test_text_that_a_stream_writes_out_goes_before_the_reply_on_every_thread(
    iopub: asyncio.AbstractEventLoop,
) -> None:
    channel = Channel()
    outbox = opened(iopub, channel)
    outbox.post(output("display_data"))

    def write() -> None:
        outbox.output(output("stdout", "text"))
        outbox.output(output("stderr", "of a handler, on the same thread"))

    outbox.write_out(write)  # on the main thread, which else only posts
    outbox.put(CellReply(cell="c", rank=0), now=True)
    wait_until(lambda: len(channel.sent) == 4, 10, "the reply")
    assert channel.kinds == ["display_data", "stdout", "stderr", "ok"]


def test_the_last_text_and_the_reply_leave_together(iopub: asyncio.AbstractEventLoop) -> None:
    batches: list[int] = []

    class Counting(Channel):
        def send(self, messages: list[bytes]) -> None:
            batches.append(len(messages))
            super().send(messages)

    channel = Counting()
    outbox = opened(iopub, channel)
    writes = [
        lambda: outbox.output(output("stdout", "text")),
        lambda: outbox.output(output("stderr", "more")),
    ]
    outbox.finish(CellReply(cell="c", rank=0), writes)
    assert channel.kinds == ["stdout", "stderr", "ok"]
    assert batches == [3]


def test_a_stream_that_cannot_be_written_out_costs_neither_the_other_one_nor_the_reply(
    iopub: asyncio.AbstractEventLoop,
) -> None:
    def fails() -> None:
        raise ValueError("a hook")

    channel = Channel()
    outbox = opened(iopub, channel)
    outbox.finish(CellReply(cell="c", rank=0), [fails, lambda: outbox.output(output("stderr", "more"))])
    assert channel.kinds == ["stderr", "ok"]


def test_what_a_handler_raises_reaches_the_cell_and_costs_no_other_message(
    iopub: asyncio.AbstractEventLoop,
) -> None:
    def late() -> None:
        outbox.output(output("stdout", "taken before"))
        raise TimeoutError("too late")

    channel = Channel()
    outbox = opened(iopub, channel)
    with pytest.raises(TimeoutError):
        outbox.write_out(late)
    outbox.put(CellReply(cell="c", rank=0), now=True)
    assert channel.kinds == ["stdout", "ok"]


def test_lines_that_come_close_together_are_one_message() -> None:
    async def counted() -> tuple[str, int]:
        here, other = socket.socketpair()
        got: list[bytes] = []
        mine, theirs = Stream(here, lambda _: None), Stream(other, got.extend)
        outbox = Outbox(asyncio.get_running_loop())
        outbox.open(mine)  # type: ignore[arg-type]
        for n in range(100):
            outbox.output(output("stdout", f"{n}\n"))
        async with asyncio.timeout(20):
            while True:
                said = [links.decode_to_head(data) for data in got]
                text = "".join(m.text for m in said if isinstance(m, CellOutput))
                if text.endswith("99\n"):
                    break
                await asyncio.sleep(0.001)
        mine.close()
        theirs.close()
        return text, len(said)

    text, messages = asyncio.run(counted())
    assert text.split() == [str(n) for n in range(100)]
    assert messages < 50


def test_one_message_that_is_too_long_is_left_out_in_words(
    iopub: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "MOST_MESSAGE", 1 << 20)
    channel = Channel()
    outbox = opened(iopub, channel)
    outbox.put(output("stdout", "first"), now=True)
    outbox.put(output("stdout", "before"))
    outbox.put(output("display_data", data=b'"' + b"x" * (2 << 20) + b'"'))
    outbox.put(CellReply(cell="c", rank=0, value="x" * (2 << 20)), now=True)
    outbox.put(output("stdout", "after"), now=True)
    assert channel.kinds == ["stdout", "stdout", "stderr", "raised", "stdout"]
    assert "too large" in str(channel.said[2])
    assert "too large" in str(channel.said[3])


def test_a_failure_is_raised_by_its_own_caller_only(
    iopub: asyncio.AbstractEventLoop, caplog: pytest.LogCaptureFixture
) -> None:
    def fails() -> None:
        raise RuntimeError("of another thread")

    def late() -> None:
        elsewhere(outbox.write_out, fails)  # leaves it to this thread, which works the queue off

    channel = Channel(late)
    outbox = opened(iopub, channel)
    outbox.put(CellReply(cell="c", rank=0), now=True)
    assert "of another thread" in caplog.text
    assert channel.kinds == ["ok"]
