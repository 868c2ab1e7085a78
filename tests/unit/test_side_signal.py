from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from dtrain_lab.core.stacks import STACKS_SIGNAL, main_first, main_frames
from dtrain_lab.node.side_signal import signal_beside
from tests.waiting import wait_until

CATCHES = f"""
import ctypes, faulthandler, sys, threading, time
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
faulthandler.register({int(STACKS_SIGNAL)}, file=sys.stderr, all_threads=True, chain=False)
print("ready", flush=True)
began = time.monotonic()
ctypes.PyDLL(None).sleep(2)
print(time.monotonic() - began >= 1.9, flush=True)
"""


def test_a_process_that_does_not_catch_it_gets_none() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        assert not signal_beside(process.pid, STACKS_SIGNAL)
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def test_the_main_thread_is_not_cut_short_and_its_stack_is_there_with_the_gil_held() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", CATCHES], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    wait_until(lambda: signal_beside(process.pid, STACKS_SIGNAL), 5, "the signal to be sent")
    out, err = process.communicate(timeout=20)
    assert out == "True\n"
    assert "in <module>" in err
    text = main_first(err)
    assert text.startswith("Main thread")
    innermost = main_frames(err)[-1]
    assert innermost.function == "<module>"
    assert innermost.line in (5, 6, 7), "on its way into sleep, or in it"


def test_a_process_that_is_gone_is_told() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    with pytest.raises(ProcessLookupError):
        signal_beside(process.pid, STACKS_SIGNAL)
