"""Calls from a thread into the portal's loop, and what an interrupt makes of them."""

from __future__ import annotations

import asyncio
import concurrent.futures
import signal
import threading
from collections.abc import Iterator

import pytest

from dtrain_lab.api.portal import Portal


@pytest.fixture
def portal() -> Iterator[Portal]:
    made = Portal("python", None, None, None)
    yield made
    made.close()


@pytest.fixture
def interruptible() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Work:
    """Work that interrupts the main thread as often as asked, and then cleans up."""

    def __init__(self) -> None:
        self.cleans_up, self.clean = asyncio.Event(), threading.Event()

    async def run(self) -> None:
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)
        try:
            await asyncio.Event().wait()
        finally:
            await self.tidy(main)
            self.clean.set()

    async def tidy(self, main: int) -> None:
        """Take some turns of the loop."""
        for _ in range(100):
            await asyncio.sleep(0)


class Endless(Work):
    """Its clean-up does not end, and the user interrupts again."""

    async def tidy(self, main: int) -> None:
        signal.pthread_kill(main, signal.SIGINT)
        await self.cleans_up.wait()


def test_an_interrupt_waits_for_the_clean_up(portal: Portal, interruptible: None) -> None:
    work = Work()
    with pytest.raises(KeyboardInterrupt):
        portal.call(work.run())
    assert work.clean.is_set()


def test_a_second_interrupt_does_not_wait(portal: Portal, interruptible: None) -> None:
    work = Endless()
    with pytest.raises(KeyboardInterrupt):
        portal.call(work.run())
    assert not work.clean.is_set()
    portal.loop.call_soon_threadsafe(work.cleans_up.set)
    assert work.clean.wait(20)


def test_a_call_from_another_loop_that_is_cancelled_waits_for_the_clean_up(portal: Portal) -> None:
    begun, clean = threading.Event(), threading.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(100):
                await asyncio.sleep(0)
            clean.set()

    async def cancels() -> None:
        call = asyncio.create_task(portal.wrap(work()))
        await asyncio.to_thread(begun.wait, 20)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert clean.is_set()

    asyncio.run(cancels())


def test_results_and_errors_come_back(portal: Portal) -> None:
    async def gives(error: BaseException | None) -> int:
        if error is not None:
            raise error
        return 3

    assert portal.call(gives(None)) == 3
    assert asyncio.run(portal.wrap(gives(None))) == 3
    with pytest.raises(KeyError):
        portal.call(gives(KeyError()))
    with pytest.raises(concurrent.futures.CancelledError):
        portal.call(gives(asyncio.CancelledError()))


def test_a_call_outlives_the_loop_that_awaited_it(
    portal: Portal, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    closed, set_result = threading.Event(), concurrent.futures.Future.set_result

    def lags(future: concurrent.futures.Future[int], result: int) -> None:
        set_result(future, result)
        closed.wait(20)

    async def gives() -> int:
        return 3

    monkeypatch.setattr(concurrent.futures.Future, "set_result", lags)
    assert asyncio.run(portal.wrap(gives())) == 3
    closed.set()
    portal.call(asyncio.sleep(0))
    assert not caplog.records
