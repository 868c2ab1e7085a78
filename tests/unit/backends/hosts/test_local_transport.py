"""Commands of this machine: none is left behind by a call that has ended."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dtrain_lab.backends.hosts.local_transport import LocalTransport
from dtrain_lab.errors import Unreachable
from dtrain_lab.machine import processes
from tests.waiting import wait_until


def command(file: Path) -> list[str]:
    """A shell that waits for a process of its own, which holds its output open."""
    return ["bash", "-c", f"sleep 600 & echo $! > {file}.part; mv {file}.part {file}; wait"]


@pytest.mark.asyncio
async def test_a_call_that_is_cancelled_ends_its_command(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    call = asyncio.create_task(LocalTransport().run(command(file)))
    await asyncio.to_thread(wait_until, file.exists, 20, "the command")
    pid = int(file.read_text())
    began = processes.started(pid)
    assert processes.same(pid, began) is not None
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.to_thread(wait_until, lambda: processes.same(pid, began) is None, 20, "its end")


@pytest.mark.asyncio
async def test_a_command_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with pytest.raises(Unreachable, match="bash did not answer in"):
        await LocalTransport().run(command(file), within_s=1.0)
    if file.exists():
        pid = int(file.read_text())
        await asyncio.to_thread(wait_until, lambda: processes.began_at(pid) == 0.0, 20, "its end")
