"""Who gives a turn back: the process that took it, or, where the head can't see that, its silence."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest

from dtrain_lab.head.cells import rank_holders
from dtrain_lab.head.cells.rank_holders import TurnHolders
from dtrain_lab.machine import processes

ELSEWHERE = "another-boot pid:[4026531836]"


@pytest.mark.asyncio
async def test_a_process_that_ends_gives_its_turn_back() -> None:
    given: asyncio.Queue[str] = asyncio.Queue()
    holders = TurnHolders(given.put_nowait)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert holders.hold("view", process.pid, processes.system())
        assert holders.knows("view")
        process.kill()
    assert await asyncio.wait_for(given.get(), 20) == "view"


@pytest.mark.asyncio
async def test_a_process_of_another_machine_holds_its_turn_whatever_its_number_is_here() -> None:
    holders = TurnHolders(lambda _: None)
    with subprocess.Popen(["true"]) as ended:
        pass
    assert not holders.hold("near", ended.pid, processes.system())
    assert holders.hold("far", ended.pid, ELSEWHERE)
    assert holders.knows("far")
    holders.drop("far")
    assert not holders.knows("far")


@pytest.mark.asyncio
async def test_one_that_is_not_heard_of_gives_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_holders, "TURN_KEPT_S", 0.05)
    given: asyncio.Queue[str] = asyncio.Queue()
    holders = TurnHolders(given.put_nowait)
    assert holders.hold("far", os.getpid(), ELSEWHERE)
    assert await asyncio.wait_for(given.get(), 20) == "far"
    assert not holders.knows("far")
