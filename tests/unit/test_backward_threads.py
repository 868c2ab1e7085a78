"""Interrupts where torch runs backward in a thread of its own, as it does for GPUs."""

from __future__ import annotations

import _thread
import os
import sys
import threading
from typing import Any

import pytest

from dtrain_lab.rank.cells import backward_threads
from tests.waiting import wait_until


@pytest.mark.parametrize(("module", "interrupted"), [("torch.autograd.graph", True), ("training", False)])
def test_a_hook_is_interrupted_while_the_main_thread_waits_in_backward(
    module: str, interrupted: bool
) -> None:
    names: dict[str, Any] = {"__name__": module, "read": os.read}
    exec("def backward(pipe): read(pipe, 1)", names)  # waits in C, as the main thread does
    pipe, end = os.pipe()
    main = threading.Thread(target=names["backward"], args=(pipe,))
    main.start()
    assert main.ident is not None
    runs, left, ended = threading.Event(), threading.Event(), threading.Event()

    def hook() -> None:  # in a thread that Python's threading does not know, as torch's
        try:
            while not ended.is_set():
                runs.set()
        except KeyboardInterrupt:
            left.set()

    _thread.start_new_thread(hook, ())
    try:
        wait_until(lambda: sys._current_frames()[main.ident].f_code.co_name == "backward", 10, "a wait")
        runs.wait()
        backward_threads.interrupt(main.ident)
        if interrupted:
            wait_until(left.is_set, 10, "the hook to be interrupted")
    finally:
        ended.set()
        os.write(end, b"1")
        main.join()
        os.close(pipe)
        os.close(end)
    assert left.is_set() == interrupted
