"""Signal handlers that are due in the middle of something wait until it is done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from dtrain_lab.machine.signals import HandlerDeferral, held_interrupts


@pytest.fixture(autouse=True)
def handler() -> Iterator[Any]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield before
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_inside_is_raised_at_the_end() -> None:
    done = []

    def inside() -> None:
        with held_interrupts():
            signal.raise_signal(signal.SIGINT)
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        inside()
    assert done == ["all of it"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_inside_goes_before_an_interrupt() -> None:
    def inside() -> None:
        with held_interrupts():
            signal.raise_signal(signal.SIGINT)
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        inside()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_where_interrupts_are_ignored_or_not_pythons_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with held_interrupts():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        signal.raise_signal(signal.SIGINT)
    monkeypatch.setattr(signal, "getsignal", lambda _: None)  # set by C code
    with held_interrupts():
        pass


def test_on_another_thread_nothing_is_held() -> None:
    failed: list[BaseException] = []

    def work() -> None:
        try:
            with held_interrupts():
                assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        except BaseException as error:  # noqa: BLE001 # told by the test's thread
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)
    assert not failed


@pytest.fixture
def deferral() -> Iterator[HandlerDeferral]:
    before = signal.getsignal(signal.SIGUSR1)
    found = HandlerDeferral()
    undo = found.install()
    yield found
    undo()
    signal.signal(signal.SIGUSR1, before)


def test_a_handler_runs_behind_what_defers_it_and_else_at_once(deferral: HandlerDeferral) -> None:
    said: list[str] = []
    signal.signal(signal.SIGUSR1, lambda *_: said.append("handler"))
    with deferral:
        with deferral:
            signal.raise_signal(signal.SIGUSR1)
            signal.raise_signal(signal.SIGUSR1)
        said.append("inside")
    assert said == ["inside", "handler"]  # once, as of any signal that comes twice before it is handled
    signal.raise_signal(signal.SIGUSR1)
    assert said == ["inside", "handler", "handler"]


def test_a_handler_that_raises_costs_no_other_one(deferral: HandlerDeferral) -> None:
    said: list[int] = []

    def handler(number: int, _: object) -> None:
        said.append(number)
        raise ValueError("of a handler")

    before = signal.signal(signal.SIGUSR2, handler)
    signal.signal(signal.SIGUSR1, handler)

    def both() -> None:
        with deferral:
            signal.raise_signal(signal.SIGUSR2)
            signal.raise_signal(signal.SIGUSR1)

    with pytest.raises(ValueError, match="of a handler"):
        both()
    signal.signal(signal.SIGUSR2, before)
    assert said == [signal.SIGUSR2, signal.SIGUSR1]
    with deferral:
        pass  # nothing is left over
    assert len(said) == 2


def test_handlers_are_given_back_as_they_were_set(deferral: HandlerDeferral) -> None:
    def handler(*_: object) -> None:
        """Do nothing."""

    signal.signal(signal.SIGUSR1, handler)
    assert signal.getsignal(signal.SIGUSR1) is handler
    assert signal.signal(signal.SIGUSR1, signal.SIG_IGN) is handler
    assert signal.getsignal(signal.SIGUSR1) is signal.SIG_IGN
    with pytest.raises(TypeError):
        signal.signal(signal.SIGUSR1, "no handler")  # type: ignore[arg-type]


def test_what_another_thread_does_defers_nothing(deferral: HandlerDeferral) -> None:
    said: list[str] = []
    signal.signal(signal.SIGUSR1, lambda *_: said.append("handler"))
    inside, over = threading.Event(), threading.Event()

    def work() -> None:
        with deferral:
            inside.set()
            over.wait(10)

    thread = threading.Thread(target=work)
    thread.start()
    assert inside.wait(10)
    signal.raise_signal(signal.SIGUSR1)
    assert said == ["handler"]
    over.set()
    thread.join(10)
