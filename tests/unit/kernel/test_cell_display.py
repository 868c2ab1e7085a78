"""A notebook's cell: the main thread sends the order itself, and an interrupt finds no cell or one to end."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from dtrain_lab.kernel.output import cell_display
from dtrain_lab.kernel.output.cell_display import CellDisplay

Interrupt = Callable[[], None]


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


class Cluster:
    """A cluster whose cell ends once it is interrupted, and the portal through which it is reached."""

    name = "mine"

    def __init__(self, loop: asyncio.AbstractEventLoop, sending: Interrupt = lambda: None) -> None:
        self.loop = loop
        self.connection = SimpleNamespace(near=True, begin=self._begin)
        self._sending = sending
        self.sent = 0
        self.interrupted: list[str] = []
        self.done: asyncio.Future[Any] = loop.create_future()
        self.on_end: Any = None

    def post(self, work: Coroutine[Any, Any, Any]) -> None:
        asyncio.run_coroutine_threadsafe(work, self.loop)

    async def interrupt_cell(self, cell: str) -> None:
        self.interrupted.append(cell)
        self.end()

    def end(self, result: str = "result") -> None:
        if not self.done.done():
            self.done.set_result(result)

    def _begin(self, order: object, cell: str, put: object, on_end: Any) -> asyncio.Future[Any]:
        self.sent += 1
        self._sending()
        self.done.add_done_callback(on_end)
        return self.done


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


@pytest.fixture(autouse=True)
def usual(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def emitter(*_: object, **__: object) -> Any:
        return SimpleNamespace(finish=lambda: None, waits=False, hurry=lambda: None, put=lambda _: None)

    monkeypatch.setattr(cell_display, "Emitter", emitter)
    monkeypatch.setattr(cell_display, "Comms", lambda *_: SimpleNamespace(answers={}, see=lambda _: None))
    monkeypatch.setattr(cell_display, "Result", lambda result, _: result)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def run(cluster: Cluster) -> Any:
    made = CellDisplay(None, cluster, cluster, "c", (0,), False)  # type: ignore[arg-type]
    return made.run(SimpleNamespace(cell="c"))  # type: ignore[arg-type]


def test_a_cell_runs_to_its_end(loop: asyncio.AbstractEventLoop) -> None:
    cluster = Cluster(loop)
    loop.call_soon_threadsafe(loop.call_later, 0.05, cluster.end)
    assert run(cluster) == "result"
    assert (cluster.sent, cluster.interrupted) == (1, [])


def test_an_interrupt_while_the_order_is_sent_interrupts_the_cell(loop: asyncio.AbstractEventLoop) -> None:
    cluster = Cluster(loop, interrupt)
    assert run(cluster) == "result"
    assert (cluster.sent, cluster.interrupted) == (1, ["c"])


def test_an_interrupt_when_the_order_has_just_been_sent_interrupts_the_cell(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def late() -> Iterator[list[int]]:
        yield []
        raise KeyboardInterrupt

    monkeypatch.setattr(cell_display, "held_interrupts", late)
    cluster = Cluster(loop)
    assert run(cluster) == "result"
    assert (cluster.sent, cluster.interrupted) == (1, ["c"])


def test_an_interrupt_before_the_order_is_sent_leaves_no_cell(loop: asyncio.AbstractEventLoop) -> None:
    cluster = Cluster(loop)

    def refused(*_: object) -> None:
        raise KeyboardInterrupt

    cluster.connection.begin = refused
    with pytest.raises(KeyboardInterrupt):
        run(cluster)
    assert cluster.interrupted == []


def test_who_waits_no_longer_is_not_told_and_nothing_is_left_unread(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(cell_display, "PATIENT_S", -1.0)
    cluster = Cluster(loop, interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(cluster)

    async def fail() -> None:
        failed: asyncio.Future[Any] = loop.create_future()
        failed.set_exception(ValueError("of a cell that nobody waits for"))
        gone: concurrent.futures.Future[Any] = concurrent.futures.Future()
        gone.cancel()
        cell_display._settle(failed, gone)

    asyncio.run_coroutine_threadsafe(fail(), loop).result(10)
    gc.collect()
    assert "never retrieved" not in caplog.text
    assert cluster.done.cancelled()


def test_an_error_of_the_display_after_the_wait_is_over_ends_nothing_else(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(cell_display, "PATIENT_S", -1.0)

    def fails() -> None:
        raise ValueError("no display")

    def emitter(*_: object, **__: object) -> Any:
        return SimpleNamespace(finish=fails, waits=False, hurry=lambda: None)

    monkeypatch.setattr(cell_display, "Emitter", emitter)
    with pytest.raises(KeyboardInterrupt):
        run(Cluster(loop, interrupt))
    asyncio.run_coroutine_threadsafe(asyncio.sleep(0.01), loop).result(10)
    assert "InvalidState" not in caplog.text
