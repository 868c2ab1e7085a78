"""The signal by which a rank's main thread is paused: it stops once for each time that it is asked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FrameType, SimpleNamespace

import pytest

from dtrain_lab.rank.debugger import pause, tracing


class PyDB:
    """pydevd's, as far as a stopped thread shows it."""

    @staticmethod
    def do_wait_suspend(during: Callable[[], None]) -> None:
        during()


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[FrameType]]:
    found: list[FrameType] = []
    monkeypatch.setitem(sys.modules, "pydevd", SimpleNamespace(PyDB=PyDB))
    monkeypatch.setattr(pause.signal, "pthread_kill", lambda thread, number: None)
    monkeypatch.setattr(tracing, "mark_stopped", lambda: None)
    monkeypatch.setattr(tracing, "stay_in", found.append)
    monkeypatch.setattr(tracing, "library", lambda file: False)
    yield found
    pause.forget()


def signalled() -> None:
    pause._stop(pause.SIGNAL, sys._getframe())


def test_a_signal_that_is_repeated_after_the_stop_stops_nobody_again(stops: list[FrameType]) -> None:
    pause.ask(1)
    signalled()
    pause.repeat(1)
    signalled()
    assert len(stops) == 1
    assert not pause.asked()


def test_a_thread_that_stands_at_a_breakpoint_is_not_stopped_in_its_stop(stops: list[FrameType]) -> None:
    """pydevd would fail, and with it the user's cell: "Tracker being added twice to the same thread id"."""
    pause.ask(1)
    PyDB.do_wait_suspend(signalled)
    assert not stops
    assert not pause.asked(), "it has stopped"
    signalled()
    assert not stops, "and is not stopped once more when it goes on"


def test_a_signal_that_nobody_asked_for_needs_no_debugger(
    stops: list[FrameType], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "pydevd")
    signalled()
    assert not stops
