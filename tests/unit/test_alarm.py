"""A timer that another thread sets, and the loop hears of when it is due only."""

from __future__ import annotations

import asyncio
import time

from dtrain_lab.rank.output.alarm import Alarm


async def test_it_is_due_when_another_thread_has_said_and_only_once() -> None:
    rung: list[float] = []
    alarm = Alarm(lambda: rung.append(time.monotonic()))
    began = time.monotonic()
    await asyncio.to_thread(alarm.set, 0.05)
    async with asyncio.timeout(10):
        while not rung:
            await asyncio.sleep(0.005)
    assert rung[0] - began >= 0.05
    alarm.set(0.01)
    alarm.stop()
    alarm.set(30.0)  # in place of what was set before
    alarm.set(0.02)
    async with asyncio.timeout(10):
        while len(rung) < 2:
            await asyncio.sleep(0.005)
    await asyncio.sleep(0.03)
    assert len(rung) == 2
