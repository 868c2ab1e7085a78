"""Training functions in a cluster's cells: means over ranks, diagnose."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import dtrain_lab as dt
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(150)]

SETUP = """
import torch, dtrain_lab as dt
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
torch.manual_seed(0)
data = TensorDataset(torch.randn(64, 8), torch.randn(64, 2))
model = DDP(torch.nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def train(loader, epochs=1, each=lambda step, loss: None):
    step = 0
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            each(step, loss)
            step += 1
"""
SHARED = "DataLoader(data, 4, sampler=DistributedSampler(data))"


def test_optimize_is_measured_and_diagnosed_as_what_it_is(pair: dt.Cluster) -> None:
    pair.run(SETUP + "model, optimizer = dt.optimize(model, optimizer, gradient_accumulation_steps=4)")
    pair.run(f"train({SHARED}, epochs=6)", timeout=60)
    assert pair.run("print(dt.global_batch())").stdout == {0: "8\n", 1: "8\n"}
    before = pair.run("print([float(p.double().sum()) for p in model.parameters()])").stdout
    assert pair.diagnose().communication is not None
    assert pair.run("print([float(p.double().sum()) for p in model.parameters()])").stdout == before
    assert before[0] == before[1]


def test_a_batch_that_is_probed_for_is_no_training(pair: dt.Cluster) -> None:
    pair.run(SETUP + f"train({SHARED})")
    probed = """
inside = []
def step(size):
    for _ in range(12):
        inside.append(1)
        optimizer.zero_grad()
        model(torch.randn(size, 8)).sum().backward()
        optimizer.step()
from dtrain_lab.training.batch_size import largest
largest.LARGEST = 8
print(dt.largest_batch(step), len(inside) >= 12, dt.global_batch())
"""
    found = pair.run(probed)
    assert found.stdout == {0: "8 True 8\n", 1: "8 True 8\n"}
    told = found.stderr[0].splitlines()
    assert told == ["dtrain-lab: dt.largest_batch: a batch of 8 fits; larger ones are not tried."]
    other = "model = DDP(torch.nn.Linear(8, 2)); optimizer = torch.optim.SGD(model.parameters(), lr=0.01)\n"
    pair.run(f"{SETUP}dt.per_rank_batch(8)\ntrain({SHARED})\n{other}train(DataLoader(data, 2))")
    assert pair.run("print(dt.global_batch())").stdout == {0: "4\n", 1: "4\n"}, "of the last model"


def test_means_over_ranks_reach_the_charts(pair: dt.Cluster) -> None:
    trained = pair.run(
        SETUP + f"train({SHARED}, each=lambda step, loss: dt.log(step, average=True, rank=rank))"
    )
    assert not any(trained.stderr.values())

    def mean() -> float | None:
        found = pair.info()["metrics"]
        return found["values"].get("rank") if found else None

    assert wait_until(mean, 10, "a mean") == 0.5
    assert (pair.info()["metrics"] or {})["averaged"] == ["rank"]
    left = "[k for k in range(100) if dist.group.WORLD.get_group_store().check([f'dtrain/log/{k}/0/1'])]"
    wait_until(
        lambda: pair.run(f"import torch.distributed as dist\nprint({left})", ranks=[0]).stdout == {0: "[]\n"},
        10,
        "the store to keep nothing of it",
    )
    assert not any(pair.run("pass").stderr.values())


def test_what_advice_needs_is_known_of_an_ordinary_loop(pair: dt.Cluster) -> None:
    pair.run(SETUP)
    loop = f"train({SHARED}, epochs=10**6)"

    async def figures() -> dict[str, Any]:
        """What is known while it trains."""
        running = asyncio.ensure_future(pair.run_async(loop, check=False))
        try:
            async with asyncio.timeout(30):
                while not (found := (await pair.info_async())["metrics"])["gradient_bytes"]:
                    await asyncio.sleep(0.1)
            return found
        finally:
            await pair.interrupt_async()
            await running

    found = asyncio.run(figures())
    assert found["gradient_bytes"] == (8 * 2 + 2) * 4
    assert found["link_share"] is None, "one node"
    assert found["unknown"] == []
