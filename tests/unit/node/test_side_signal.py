from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dtrain_lab.debugger.faulthandler import (
    ASK_SIGNAL,
    STACKS_SIGNAL,
    main_first,
    main_frames,
    without_writer,
)
from dtrain_lab.machine import processes
from dtrain_lab.node.stacks.side_signal import signal_beside
from tests.waiting import wait_until

CATCHES = f"""
import ctypes, faulthandler, sys, threading, time
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
faulthandler.register({int(STACKS_SIGNAL)}, file=sys.stderr, all_threads=True, chain=False)
sleep = ctypes.PyDLL(None).sleep
print("ready", flush=True)
began = time.monotonic()
sleep(2)
print(time.monotonic() - began >= 1.9, flush=True)
"""


def test_a_process_that_does_not_catch_it_gets_none() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        assert not signal_beside(process.pid, processes.began_at(process.pid), STACKS_SIGNAL)
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
    began = processes.began_at(process.pid)
    wait_until(lambda: signal_beside(process.pid, began, STACKS_SIGNAL), 5, "the signal to be sent")
    out, err = process.communicate(timeout=20)
    assert out == "True\n"
    assert "in <module>" in err
    text = main_first(err)
    assert text.startswith("Main thread")
    innermost = main_frames(err)[-1]
    assert innermost.function == "<module>"
    assert innermost.line in (6, 7, 8), "on its way into sleep, or in it"


BUSY = f"""
import faulthandler, signal, sys, threading, time
from functools import partial
from dtrain_lab.rank.job.runner import dtrain_write_stacks
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
faulthandler.register({int(STACKS_SIGNAL)}, file=sys.stderr, all_threads=True, chain=False)
signal.signal({int(ASK_SIGNAL)}, partial(dtrain_write_stacks, 2))
print("ready", flush=True)
def deep(n):
    return deep(n - 1) + 1 if n else 0
while True:
    deep(20); sum(i for i in range(50))
"""


def test_a_process_that_computes_in_python_survives_being_asked_all_the_time(tmp_path: Path) -> None:
    """faulthandler, reading frames that change meanwhile, ends such a process within some dozens."""
    command = [sys.executable, "-c", BUSY]
    with (
        open(tmp_path / "err", "w+") as err,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=err, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"

            def whole(before: int) -> str:
                """What came since: asked sooner, one dump begins within another, and is cut for its depth."""
                text = Path(err.name).read_text()[before:]
                dump = text[max(text.find("Current thread"), 0) :]
                return dump if "in <module>" in dump else ""

            for _ in range(300):
                before = os.fstat(err.fileno()).st_size
                assert signal_beside(process.pid, processes.began_at(process.pid), ASK_SIGNAL)
                dump = wait_until(lambda before=before: whole(before), 10, "its stacks")
            assert process.poll() is None
        finally:
            process.kill()
    assert "dtrain_write_stacks" in dump
    assert "dtrain_write_stacks" not in without_writer(dump)


def test_a_process_that_is_gone_is_told() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    began = processes.began_at(process.pid)
    process.wait()
    with pytest.raises(ProcessLookupError):
        signal_beside(process.pid, began, STACKS_SIGNAL)


def test_another_process_with_the_same_id_gets_no_signal() -> None:
    began = processes.started()
    with pytest.raises(ProcessLookupError):
        signal_beside(os.getpid(), began - 100, STACKS_SIGNAL)
