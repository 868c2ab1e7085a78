"""Calls of the rendezvous store, without a head."""

from __future__ import annotations

import signal
import threading
from datetime import timedelta
from typing import Any

import pytest
import torch.distributed as dist

from dtrain_lab.rank.group.link_store import Aborted, PendingCalls
from dtrain_lab.wire.links import StoreAnswer, StoreCall


def test_a_generation_that_was_given_up_before_a_rank_came_to_it_is_not_waited_for() -> None:
    calls = PendingCalls(0, lambda call: None)
    calls.forming(True)
    calls.abort()
    with pytest.raises(Aborted):
        calls.ask(timedelta(seconds=20), operation="get", keys=("a",))
    calls.forming(True)
    with pytest.raises(dist.DistStoreError):
        calls.ask(timedelta(0), operation="get", keys=("a",))


class Signalled(dict[int, Any]):
    """The calls that wait; a signal comes while the first one is added."""

    def __setitem__(self, number: int, pending: Any) -> None:
        if number == 1:
            signal.raise_signal(signal.SIGUSR1)
        super().__setitem__(number, pending)


def test_a_signal_handler_makes_a_call_amid_another_one() -> None:
    def answer(call: StoreCall) -> None:
        threading.Thread(
            target=calls.answered, args=(StoreAnswer(id=call.id, value=b"%d" % call.id),)
        ).start()

    calls = PendingCalls(0, answer)
    calls._pending = Signalled()
    got = []

    def ask(*_: object) -> None:
        got.append(calls.ask(timedelta(seconds=10), operation="get", keys=("a",)).value)

    before = signal.signal(signal.SIGUSR1, ask)
    try:
        ask()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert got == [b"2", b"1"]
    assert not calls._pending


def test_an_abort_wakes_all_that_wait_and_comes_to_an_end_before_a_late_answer() -> None:
    failed: list[BaseException] = []

    def ask() -> None:
        try:
            calls.ask(timedelta(seconds=20), operation="get", keys=("a",))
        except Aborted as error:
            failed.append(error)

    sent = threading.Semaphore(0)
    calls = PendingCalls(0, lambda _: sent.release())
    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
        assert sent.acquire(timeout=10)
    calls.abort()
    calls.answered(StoreAnswer(id=1))
    for thread in threads:
        thread.join(10)
    assert len(failed) == 3
