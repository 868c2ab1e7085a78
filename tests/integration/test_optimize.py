"""`dt.optimize` on two gloo ranks: accumulation equals the large batch, hooks and buckets keep results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset

import dtrain_lab as dt
from tests.gloo import on_ranks

pytestmark = pytest.mark.processes

EVERY = 4
OPTIMIZERS: dict[str, Callable[..., Any]] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
}


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))


def data(batches: int, batch: int = 4) -> TensorDataset:
    rank = torch.distributed.get_rank() if torch.distributed.is_initialized() else 0
    torch.manual_seed(1 + rank)
    return TensorDataset(torch.randn(batches * batch, 6), torch.randn(batches * batch, 3))


def train(model: Any, optimizer: Any, loader: Any, *, clip: float = 0, set_to_none: bool = True) -> None:
    """An ordinary loop."""
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    for _ in range(2):
        for x, y in loader:
            optimizer.zero_grad(set_to_none=set_to_none)
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            if clip:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
        scheduler.step()


def values(model: nn.Module) -> list[torch.Tensor]:
    return [p.detach().clone() for p in model.parameters()]


def far(a: list[torch.Tensor], b: list[torch.Tensor]) -> float:
    return max(float((x - y).abs().max()) for x, y in zip(a, b, strict=True))


def against_large(kind: str, batches: int, options: dict[str, Any]) -> float:
    """Largest difference of parameters between accumulation and the large batch."""
    torch.set_num_threads(1)
    several = torch.distributed.is_initialized()
    large: Any = DDP(net()) if several else net()
    found = data(batches)
    train(large, OPTIMIZERS[kind](large.parameters()), DataLoader(found, 4 * EVERY), **options)
    model: Any = net()
    model, optimizer = dt.optimize(
        model, OPTIMIZERS[kind](model.parameters()), gradient_accumulation_steps=EVERY
    )
    assert isinstance(model, DDP) == several
    train(model, optimizer, DataLoader(found, 4), **options)
    assert far(values(model), values(net())) > 1e-3
    return far(values(model), values(large))


def all_against_large() -> dict[str, float]:
    return {
        "sgd": against_large("sgd", 12, {}),
        "momentum": against_large("momentum", 12, {"set_to_none": False}),
        "adam": against_large("adam", 12, {}),
        "clipped": against_large("sgd", 12, {"clip": 0.05}),
        "last group of 2": against_large("momentum", 10, {}),
        "last group of 1": against_large("sgd", 9, {"clip": 0.05}),
    }


@pytest.mark.parametrize("size", [1, 2])
def test_accumulation_equals_the_large_batch(size: int) -> None:
    for found, _ in on_ranks(all_against_large, size=size):
        assert {name for name, difference in found.items() if difference > 1e-5} == set(), found
