"""Who releases a lock: the process that holds it, or, where the head can't see that, its silence."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest

from dtrain_lab.head import lock_holders
from dtrain_lab.head.lock_holders import LockHolders
from dtrain_lab.machine import processes

ELSEWHERE = "another-boot pid:[4026531836]"


@pytest.mark.asyncio
async def test_a_process_that_ends_releases_its_lock() -> None:
    released: asyncio.Queue[str] = asyncio.Queue()
    holders = LockHolders(released.put_nowait)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert holders.hold("view", process.pid, processes.system())
        assert holders.knows("view")
        process.kill()
    assert await asyncio.wait_for(released.get(), 20) == "view"


@pytest.mark.asyncio
async def test_a_process_of_another_machine_holds_its_lock_whatever_its_number_is_here() -> None:
    holders = LockHolders(lambda _: None)
    with subprocess.Popen(["true"]) as ended:
        pass
    assert not holders.hold("near", ended.pid, processes.system())
    assert holders.hold("far", ended.pid, ELSEWHERE)
    assert holders.knows("far")
    holders.drop("far")
    assert not holders.knows("far")


@pytest.mark.asyncio
async def test_one_that_is_not_heard_of_releases_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock_holders, "RANKS_HELD_S", 0.05)
    released: asyncio.Queue[str] = asyncio.Queue()
    holders = LockHolders(released.put_nowait)
    assert holders.hold("far", os.getpid(), ELSEWHERE)
    holders.acquired("far")
    assert await asyncio.wait_for(released.get(), 20) == "far"
    assert not holders.knows("far")


@pytest.mark.asyncio
async def test_one_that_waits_for_its_ranks_need_not_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "call_later", lambda after_s, *_: waits.append(after_s) or loop.call_soon(str))
    holders = LockHolders(lambda _: None)
    assert holders.hold("far", os.getpid(), ELSEWHERE)
    assert holders.knows("far")
    assert waits == [], "it may wait for longer than a lock is kept"
    holders.acquired("far")
    assert waits == [lock_holders.RANKS_HELD_S]
    assert holders.knows("far")
    assert len(waits) == 2, "asked again, it is kept again"
    holders.drop("far")
