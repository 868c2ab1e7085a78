"""Interrupts where torch runs backward in a thread of its own, as it does for GPUs."""

from __future__ import annotations

import _thread
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from dtrain_lab.rank.cells.backward_threads import BackwardThreads
from tests.waiting import wait_until


class Hook:
    """Runs Python in a thread that Python's threading does not know, as torch's."""

    def __init__(self) -> None:
        self.runs, self.interrupted, self.over = threading.Event(), threading.Event(), threading.Event()
        _thread.start_new_thread(self._run, ())
        self.runs.wait()

    def _run(self) -> None:
        try:
            while not self.over.is_set():
                self.runs.set()
        except KeyboardInterrupt:
            self.interrupted.set()


@pytest.fixture
def main() -> Iterator[Callable[[str], int]]:
    """Makes a thread that waits in a function of a module, in C, as the main thread does in backward."""
    pipe, end = os.pipe()
    made: list[threading.Thread] = []

    def wait_in(module: str) -> int:
        names: dict[str, Any] = {"__name__": module, "read": os.read}
        exec("def backward(pipe): read(pipe, 1)", names)
        thread = threading.Thread(target=names["backward"], args=(pipe,))
        thread.start()
        made.append(thread)
        assert thread.ident is not None
        ident = thread.ident
        wait_until(lambda: sys._current_frames()[ident].f_code.co_name == "backward", 10, "a wait")
        return ident

    yield wait_in
    os.write(end, b"1" * len(made))
    for thread in made:
        thread.join()
    os.close(pipe)
    os.close(end)


@pytest.mark.parametrize(
    ("module", "gpu", "interrupted"),
    [("torch.autograd.graph", True, True), ("training", True, False), ("torch.autograd.graph", False, False)],
)
def test_a_hook_is_interrupted_while_the_main_thread_waits_in_backward(
    main: Callable[[str], int], monkeypatch: pytest.MonkeyPatch, module: str, gpu: bool, interrupted: bool
) -> None:
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: gpu)
    of_user, threads = Hook(), BackwardThreads()
    threads.begin_cell()
    hook = Hook()
    try:
        threads.interrupt(main(module))
        if interrupted:
            wait_until(hook.interrupted.is_set, 10, "the hook to be interrupted")
    finally:
        hook.over.set()
        of_user.over.set()
    assert hook.interrupted.is_set() == interrupted
    assert not of_user.interrupted.is_set(), "it ran before the cell"


def test_an_interrupt_that_comes_too_late_ends_no_later_hook(
    main: Callable[[str], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    pipe, end = os.pipe()
    later, interrupted = threading.Event(), threading.Event()

    def hook() -> None:
        try:
            os.read(pipe, 1)  # in C code while it is interrupted, and until the cell has ended
            later.set()
        except KeyboardInterrupt:
            interrupted.set()

    threads = BackwardThreads()
    threads.begin_cell()
    number = _thread.start_new_thread(hook, ())
    wait_until(lambda: sys._current_frames().get(number) is not None, 10, "the hook")
    threads.interrupt(main("torch.autograd.graph"))
    threads.end_cell()
    os.write(end, b"1")
    wait_until(later.is_set, 10, "the hook to go on")
    assert not interrupted.is_set()
    os.close(pipe)
    os.close(end)
