"""Interrupts that come in the middle of something wait until it is done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from dtrain_lab.machine.interrupts import held_interrupts


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
