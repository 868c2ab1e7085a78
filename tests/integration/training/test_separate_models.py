"""Ranks that train apart, in cells and in jobs: said once where it is so, and never where it is not."""

from __future__ import annotations

import pytest

import dtrain_lab as dt
from tests.waiting import wait_until

pytestmark = pytest.mark.processes

TRAIN = """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
torch.manual_seed(rank)
net = torch.nn.Linear(8, 2)
def train(model, steps=30, each=lambda step: None, grad=lambda: None):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        optimizer.zero_grad()
        model(torch.randn(4, 8)).sum().backward()
        grad()
        optimizer.step()
        each(step)
def mean(tensors):
    for tensor in tensors:
        dist.all_reduce(tensor)
        tensor /= dist.get_world_size()
"""
SAID = "2 ranks train without exchanging gradients; after 30 steps their parameters differ (weight, bias)"


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("train(net)", 1),
        ("train(net, each=lambda step: dist.all_reduce(torch.ones(1)))", 1),
        ("train(DDP(net))", 0),
        (
            "torch.manual_seed(0)\nnet = torch.nn.Linear(8, 2)\n"
            "train(net, grad=lambda: mean(p.grad for p in net.parameters()))",
            0,
        ),
        ("train(net, each=lambda step: step % 10 == 9 and mean(p.data for p in net.parameters()))", 0),
        ("if rank == 0:\n    train(net)", 0),
        (
            "from torch.distributed.fsdp import fully_shard\n"
            "from torch.distributed.device_mesh import init_device_mesh\n"
            "train(fully_shard(net, mesh=init_device_mesh('cpu', (2,))))",
            0,
        ),
    ],
    ids=["apart", "a loss is averaged", "DDP", "all_reduce by hand", "local SGD", "one rank alone", "FSDP2"],
)
def test_a_cell_whose_ranks_train_apart_says_so(pair: dt.Cluster, code: str, told: int) -> None:
    result = pair.run(TRAIN + code, timeout=60)
    assert sum(text.count(SAID) for text in result.stderr.values()) == told
    assert told or not any("dtrain-lab" in text for text in result.stderr.values())


def test_a_cell_of_one_rank_trains_alone(pair: dt.Cluster) -> None:
    assert pair.run(TRAIN + "train(net)", ranks="1").stderr == {1: ""}


def test_a_short_cell_shows_its_own_figures(pair: dt.Cluster) -> None:
    """Not those of the cell before it, which was slower by a factor."""
    slow = "import time\nmodel = DDP(net)\ntrain(model, steps=20, each=lambda step: time.sleep(0.1))"
    pair.run(TRAIN + slow, timeout=60)
    quick = "import time\nbegan = time.time()\ntrain(model, steps=60, each=lambda step: time.sleep(0.02))\n"
    result = pair.run(TRAIN + "model = DDP(net)\n" + quick + "print(2 * 60 * 4 / (time.time() - began))")
    true = float(result.stdout[0])

    def told() -> float | None:
        metrics = pair.info()["metrics"]
        return metrics["samples_per_s"] if metrics else None

    found = wait_until(lambda: abs((told() or 0) / true - 1) < 0.05 and told(), 5, f"{true}, not {told()}")
    assert found
