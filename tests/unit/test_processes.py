"""A process stays the one that it is, whatever happens to the clock."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from dtrain_lab.machine import processes
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(not psutil.LINUX, reason="elsewhere the kernel keeps the time itself")


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def test_it_is_itself_after_the_clock_was_set(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    began = processes.started(child.pid)
    booted = psutil.boot_time()
    # the kernel's "btime", which psutil adds, follows the clock
    monkeypatch.setattr(psutil._pslinux, "boot_time", lambda: booted + 3600.0)
    assert psutil.Process(child.pid).create_time() > time.time() + 3000
    assert processes.started(child.pid) == began
    found = processes.same(child.pid, began)
    assert found is not None
    assert found.pid == child.pid


def test_it_began_when_it_did(child: subprocess.Popen[bytes]) -> None:
    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    assert now - 60 < processes.started(child.pid) <= now
    assert processes.started() < processes.started(child.pid) + 0.01


def test_another_of_the_same_number_is_not_it(child: subprocess.Popen[bytes]) -> None:
    assert processes.same(child.pid, processes.started(child.pid) - 100) is None


def test_one_that_has_ended_is_nobody(child: subprocess.Popen[bytes]) -> None:
    began = processes.started(child.pid)
    child.kill()
    wait_until(lambda: psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE, 10, "its end")
    assert processes.same(child.pid, began) is None, "its parent has not looked yet"
    child.wait()
    assert processes.same(child.pid, began) is None
    with pytest.raises(psutil.NoSuchProcess):
        processes.started(child.pid)
