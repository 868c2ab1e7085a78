"""Orders are read by the main thread while it waits in its loop, by the other thread while it is busy."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from dtrain_lab.machine.net.streams import Stream
from dtrain_lab.machine.signals import deferred_handlers
from dtrain_lab.rank.link.order_reading import MainSelector, SocketHandoff
from tests.waiting import wait_until


def test_each_order_is_read_by_the_thread_that_is_free_and_none_is_lost_or_overtaken() -> None:
    read: list[tuple[str, bytes]] = []
    beside = asyncio.new_event_loop()
    thread = threading.Thread(target=beside.run_forever, daemon=True)
    thread.start()
    here, there = socket.socketpair()
    here.setblocking(False)
    handoff = SocketHandoff(here)
    made: list[Stream] = []

    async def open_it() -> None:
        made.append(Stream(here, lambda m: read.extend(("beside", x) for x in m), watched=handoff.for_iopub))

    asyncio.run_coroutine_threadsafe(open_it(), beside).result(10)
    selector = MainSelector()
    main = asyncio.SelectorEventLoop(selector)
    selector.attend(handoff, partial(made[0].read_beside, lambda m: read.extend(("main", x) for x in m)))

    def say(text: bytes) -> None:
        there.sendall(len(text).to_bytes(4, "little") + text)

    async def cells() -> None:
        threading.Timer(0.1, say, (b"idle",)).start()  # by then this thread waits in its loop
        while len(read) < 1:
            await asyncio.sleep(0.5)
        say(b"busy")  # in a cell: this thread does not come back to its loop
        wait_until(lambda: len(read) == 2, 20, "the order that came in the cell")
        threading.Timer(0.1, say, (b"idle again",)).start()
        while len(read) < 3:
            await asyncio.sleep(0.5)
        for n in range(200):
            say(b"%d" % n)
            if n % 3 == 0:
                await asyncio.sleep(0.001)
            elif n % 50 == 1:
                time.sleep(0.002)
        while len(read) < 203:
            await asyncio.sleep(0.01)

    main.run_until_complete(asyncio.wait_for(cells(), 60))
    assert read[:3] == [("main", b"idle"), ("beside", b"busy"), ("main", b"idle again")]
    assert [text for _, text in read[3:]] == [b"%d" % n for n in range(200)]
    there.close()
    wait_until(lambda: not made[0].open, 20, "the end, which is left to the other thread")
    main.close()
    beside.call_soon_threadsafe(beside.stop)
    thread.join(10)
    beside.close()


class Interrupted:
    """An epoll with an interrupt that comes when its next call returns."""

    def __init__(self, real: select.epoll) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any) -> None:
            getattr(self._real, name)(*args)
            raise KeyboardInterrupt

        return call


@pytest.mark.parametrize("which", ["_main", "_iopub"])
@pytest.mark.parametrize("move", ["to_main", "to_iopub"])
def test_an_interrupt_while_the_turn_changes_leaves_nobody_deaf(which: str, move: str) -> None:
    here, there = socket.socketpair()
    handoff = SocketHandoff(here)
    if move == "to_iopub":
        handoff.to_main()
    real = getattr(handoff, which)
    setattr(handoff, which, Interrupted(real))
    with pytest.raises(KeyboardInterrupt):
        getattr(handoff, move)()
    setattr(handoff, which, real)
    there.send(b"order")
    assert handoff._main.poll(0) or handoff._iopub.poll(0)  # also before the next change
    handoff.to_main()
    assert handoff._main.poll(0)
    assert not handoff._iopub.poll(0)
    handoff.to_iopub()
    assert handoff._iopub.poll(0)
    assert not handoff._main.poll(0)
    here.close()
    handoff.to_main()  # the head is gone
    there.close()


def test_an_interrupt_before_the_main_thread_waits_does_not_end_its_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here, there = socket.socketpair()
    selector, handoff = MainSelector(), SocketHandoff(here)
    loop = asyncio.SelectorEventLoop(selector)
    read: list[bytes] = []
    selector.attend(handoff, lambda: read.append(here.recv(100)))
    usual = handoff.to_main

    def to_main() -> None:
        usual()
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(handoff, "to_main", to_main)
    with pytest.raises(KeyboardInterrupt):
        loop.run_until_complete(asyncio.sleep(0.05))
    there.send(b"order")

    async def turns_of_the_loop() -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        assert not read  # a busy main thread leaves it to the other one
        while not read:
            await asyncio.sleep(0.01)

    loop.run_until_complete(asyncio.wait_for(turns_of_the_loop(), 20))
    assert read == [b"order"]
    loop.close()
    here.close()
    there.close()


def test_an_interrupt_while_the_main_thread_reads_comes_when_it_has_read() -> None:
    here, there = socket.socketpair()
    selector, handoff = MainSelector(), SocketHandoff(here)
    read: list[bytes] = []

    def interrupted() -> None:
        data = here.recv(100)
        signal.raise_signal(signal.SIGINT)  # a cell with nest_asyncio is interrupted here
        read.append(data)

    selector.attend(handoff, interrupted)
    there.send(b"order")
    with pytest.raises(KeyboardInterrupt):
        selector.select(10)
    assert read == [b"order"]
    selector.close()
    here.close()
    there.close()


@pytest.mark.parametrize("between_cells", [True, False])
def test_what_a_handler_raises_ends_a_cell_but_not_the_loop_between_cells(
    between_cells: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = socket.socketpair()
    selector, handoff = MainSelector(), SocketHandoff(here)
    selector.attend(handoff, lambda: None)
    said: list[str] = []
    selector.raised = lambda error: said.append(str(error))

    def late(*_: object) -> None:
        raise TimeoutError("too long")

    def to_main() -> None:
        signal.raise_signal(signal.SIGALRM)

    monkeypatch.setattr(handoff, "to_main", to_main)
    alarms = signal.signal(signal.SIGALRM, late)
    interrupts = signal.signal(signal.SIGINT, signal.SIG_IGN if between_cells else signal.default_int_handler)
    try:
        if between_cells:
            assert selector.select(0.01) == []
        else:
            with pytest.raises(TimeoutError, match="too long"):
                selector.select(0.01)
    finally:
        signal.signal(signal.SIGALRM, alarms)
        signal.signal(signal.SIGINT, interrupts)
    assert said == (["too long"] if between_cells else [])
    monkeypatch.undo()
    there.send(b"order")
    assert handoff._iopub.poll(0)  # whatever was raised, orders are read by the other thread meanwhile
    selector.close()
    here.close()
    there.close()


def test_an_error_of_ours_in_an_order_is_no_signal_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = socket.socketpair()
    selector, handoff = MainSelector(), SocketHandoff(here)
    said: list[str] = []
    selector.raised = lambda error: said.append(str(error))

    def fails() -> None:
        here.recv(100)
        raise LookupError("a fault of ours")

    selector.attend(handoff, fails)
    interrupts = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        there.send(b"order")
        with pytest.raises(LookupError):
            selector.select(10)
        selector.close()
        with pytest.raises((OSError, ValueError)):
            selector.select(0.01)  # not forever
    finally:
        signal.signal(signal.SIGINT, interrupts)
    assert said == []
    here.close()
    there.close()


def test_the_main_thread_rests_when_the_head_has_ended() -> None:
    beside = asyncio.new_event_loop()
    thread = threading.Thread(target=beside.run_forever, daemon=True)
    thread.start()
    here, there = socket.socketpair()
    handoff = SocketHandoff(here)
    made: list[Stream] = []

    async def open_it() -> None:
        made.append(Stream(here, lambda _: None, watched=handoff.for_iopub))

    asyncio.run_coroutine_threadsafe(open_it(), beside).result(10)
    selector = MainSelector()
    reads: list[int] = []
    selector.attend(handoff, lambda: (reads.append(1), made[0].read_beside(lambda _: None)))
    there.close()
    while made[0].open:
        selector.select(0.01)
    before = len(reads)
    for _ in range(5):
        selector.select(0.02)
    # one that was on its way when the other thread closed the stream
    assert len(reads) <= before + 1
    selector.close()
    beside.call_soon_threadsafe(beside.stop)
    thread.join(10)
    beside.close()


@pytest.fixture
def beside() -> Iterator[asyncio.AbstractEventLoop]:
    """The loop of another thread, as the IOPub thread has it."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


def attended(
    loop: asyncio.AbstractEventLoop, take: Callable[[list[bytes]], None]
) -> tuple[MainSelector, SocketHandoff, Stream, socket.socket]:
    """A selector whose thread reads, a stream that the other thread takes messages of, and its other end."""
    here, there = socket.socketpair()
    handoff = SocketHandoff(here)

    async def open_it() -> Stream:
        handoff.hear_signals()
        return Stream(here, take, watched=handoff.for_iopub)

    stream = asyncio.run_coroutine_threadsafe(open_it(), loop).result(10)
    selector = MainSelector()
    selector.attend(handoff, partial(stream.read_beside, take))
    return selector, handoff, stream, there


def close(
    loop: asyncio.AbstractEventLoop, selector: MainSelector, stream: Stream, there: socket.socket
) -> None:
    signal.set_wakeup_fd(-1)
    there.close()
    wait_until(lambda: not stream.open, 20, "the end")
    selector.close()


def test_a_signal_handler_gets_what_only_an_order_brings(beside: asyncio.AbstractEventLoop) -> None:
    got: list[bytes] = []
    selector, _, stream, there = attended(beside, got.extend)
    answered = []

    def handler(*_: object) -> None:  # amid the wait, as one that makes a collective
        there.sendall(b"\6\0\0\0answer")
        wait_until(lambda: got, 10, "the answer")
        answered.append(True)

    before = signal.signal(signal.SIGUSR1, handler)
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1)).start()
    try:
        selector.select(1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert answered
    close(beside, selector, stream, there)


def test_a_signal_handler_gets_it_amid_an_order_that_the_main_thread_has_read(
    beside: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    got: list[bytes] = []

    def take(messages: list[bytes]) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.raise_signal(signal.SIGUSR1)
        got.extend(messages)

    selector, handoff, stream, there = attended(beside, take)
    usual = handoff.to_main

    def to_main() -> None:
        usual()
        monkeypatch.undo()
        there.sendall(b"\5\0\0\0order")  # which the main thread reads

    monkeypatch.setattr(handoff, "to_main", to_main)
    answered = []

    def handler(*_: object) -> None:
        there.sendall(b"\6\0\0\0answer")
        wait_until(lambda: b"answer" in got, 10, "the answer")
        answered.append(True)

    undo = deferred_handlers.install()
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        selector.select(1)
    finally:
        signal.signal(signal.SIGUSR1, before)
        undo()
    assert answered
    assert got == [b"order", b"answer"]
    close(beside, selector, stream, there)


def test_a_finalizer_gets_what_only_an_order_brings(beside: asyncio.AbstractEventLoop) -> None:
    got: list[bytes] = []
    selector, handoff, stream, there = attended(beside, got.extend)
    handoff.to_main()  # it runs amid the selector's own code
    selector.share()
    there.sendall(b"\6\0\0\0answer")
    wait_until(lambda: got, 10, "the answer")
    close(beside, selector, stream, there)


def test_the_main_thread_rests_while_the_other_is_at_a_long_order(beside: asyncio.AbstractEventLoop) -> None:
    begun, over = threading.Event(), threading.Event()
    got: list[bytes] = []

    def take(messages: list[bytes]) -> None:
        got.extend(messages)
        if b"long" in messages:
            begun.set()
            over.wait(20)

    selector, _, stream, there = attended(beside, take)
    there.sendall(b"\4\0\0\0long")  # while this thread is busy
    assert begun.wait(10)
    there.sendall(b"\4\0\0\0next")
    threading.Timer(0.3, over.set).start()
    looks = 0
    until = time.monotonic() + 0.3
    while time.monotonic() < until:
        selector.select(0.1)
        looks += 1
    assert looks < 20
    wait_until(lambda: got == [b"long", b"next"], 10, "the next one")
    close(beside, selector, stream, there)
