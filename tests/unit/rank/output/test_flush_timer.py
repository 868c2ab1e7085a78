"""The timer of a rank's output: set by every thread, due in one."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from dtrain_lab.rank.output.flush_timer import FlushTimer
from tests.waiting import wait_until


class Loop:
    """The IOPub thread's loop, and a timer in it that notes when it is due."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.due: list[float] = []
        self.waits = False
        self.timer: FlushTimer = self.call(lambda: FlushTimer(self._due, lambda: self.waits))

    def _due(self) -> None:
        assert threading.current_thread() is self.thread
        self.due.append(time.monotonic())

    def call(self, make: Callable[[], FlushTimer]) -> FlushTimer:
        async def call() -> FlushTimer:
            return make()

        return asyncio.run_coroutine_threadsafe(call(), self.loop).result(10)


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.loop.call_soon_threadsafe(made.loop.stop)
    made.thread.join(10)
    made.loop.close()


def test_it_is_due_once_after_the_delay(loop: Loop) -> None:
    began = time.monotonic()
    loop.timer.start(0.05)
    loop.timer.start(0.06)
    wait_until(lambda: loop.due, 10, "the call")
    assert loop.due[0] - began > 0.049
    loop.timer.start(0.01)
    wait_until(lambda: len(loop.due) > 1, 10, "the second call")
    assert len(loop.due) == 2


def test_the_earliest_time_counts(loop: Loop) -> None:
    loop.timer.start(3600)
    loop.timer.start(0.01)
    wait_until(lambda: loop.due, 10, "the call")


def test_who_begins_to_wait_while_it_is_stopped_is_not_forgotten(loop: Loop) -> None:
    loop.timer.start(3600)
    loop.timer.stop(0.01)
    loop.timer.stop(0.01)
    assert not loop.due
    loop.timer.start(3600)
    loop.waits = True
    loop.timer.stop(0.01)
    wait_until(lambda: loop.due, 10, "the call")


def test_an_interrupt_before_the_timer_is_set_costs_only_that_call(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(loop.timer, "_arm", interrupted)
        with pytest.raises(KeyboardInterrupt):
            loop.timer.start(0.01)
    wait_until(lambda: time.monotonic() > loop.timer._at, 10, "the time that was not set")
    loop.timer.start(0.01)
    wait_until(lambda: loop.due, 10, "the call")
