"""A loop on real ranks that mostly sleeps: verdict, parts of a step and ranks say the same of it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest

import dtrain_lab as dt

pytestmark = [pytest.mark.processes, pytest.mark.timeout(240)]

WITHIN_S = 120.0
LOOP = """
import time, torch
from torch.nn.parallel import DistributedDataParallel as DDP
model = DDP(torch.nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
while True:
    optimizer.zero_grad()
    model(torch.randn(4, 8)).sum().backward()
    optimizer.step()
    {pause}
"""


async def while_it_trains(
    pair: dt.Cluster, pause: str, seen: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """What is known of a loop once `seen` is true of it; skips if the machine was too busy to tell.

    Args:
        pair: The cluster.
        pause: What each step ends with.
        seen: The condition.
    """
    running = asyncio.ensure_future(pair.run_async(LOOP.format(pause=pause), check=False))
    busy = False
    try:
        async with asyncio.timeout(WITHIN_S):
            while not seen(found := await pair.info_async()):
                busy = busy or bool(found["metrics"]["too_busy"])
                assert not running.done(), await running
                await asyncio.sleep(0.1)
        return found
    except TimeoutError:
        if busy:
            pytest.skip("threads waited for this machine's cores: then nothing is said of sleeping")
        raise
    finally:
        await pair.interrupt_async()
        await running


def sleeps(found: dict[str, Any]) -> bool:
    return found["metrics"]["asleep_s"] is not None and all(rank["asleep_s"] for rank in found["ranks"])


def test_a_loop_that_sleeps_is_said_to_wait_for_something_else(pair: dt.Cluster) -> None:
    found = asyncio.run(while_it_trains(pair, "time.sleep(0.02)", sleeps))
    metrics = found["metrics"]
    said = re.search(r"waits for something else: for (\d+) % of a step", metrics["no_advice"])
    assert said is not None, metrics["no_advice"]
    share = metrics["asleep_s"] / metrics["step_s"]
    assert round(100 * share) == int(said[1]), "the bar is drawn from this"
    assert share >= 0.35, "else no verdict says so"
    for rank in found["ranks"]:
        assert 0 < rank["asleep_s"] <= rank["step_s"]
    parts = sum(metrics[part] or 0.0 for part in ("data_s", "transfer_s", "wait_s", "asleep_s"))
    assert parts <= metrics["step_s"] * 1.001, "what they leave is all that can be computation"


def test_nothing_of_it_is_said_of_a_loop_that_computes(pair: dt.Cluster) -> None:
    works = "torch.randn(128, 128).matmul(torch.randn(128, 128)).softmax(1).sum()"
    # steps are those of the process, which has trained before
    before = max(rank["step"] or 0 for rank in pair.info()["ranks"])

    def enough(found: dict[str, Any]) -> bool:
        # until its first steps are seen, all figures are those of the loop before
        return found["metrics"]["current"] and all((r["step"] or 0) > before + 200 for r in found["ranks"])

    found = asyncio.run(while_it_trains(pair, f"[{works} for _ in range(40)]", enough))
    assert found["metrics"]["asleep_s"] is None
    assert "something else" not in found["metrics"]["no_advice"]
