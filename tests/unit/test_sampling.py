"""Loaders that give ranks the same samples, a missing set_epoch, and parameters that differ are named."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset

from dtrain_lab.rank.monitor.first_step import FirstStep
from dtrain_lab.rank.monitor.sampling import Sampling


def data(seed: int = 0) -> TensorDataset:
    torch.manual_seed(seed)
    return TensorDataset(torch.randn(40, 3))


def shard(rank: int, replicas: int = 2, **options: Any) -> DataLoader[Any]:
    return DataLoader(
        data(), 4, sampler=DistributedSampler(data(), num_replicas=replicas, rank=rank, **options)
    )


def told(monkeypatch: pytest.MonkeyPatch, *loaders: Any) -> list[str]:
    """What is said where each rank trains with its own of these loaders."""
    store, said = dist.HashStore(), []
    for rank, loader in enumerate(loaders):
        monkeypatch.setenv("RANK", str(rank))
        watch = Sampling(said.append)
        watch.begin_cell("cell", len(loaders), store)
        watch.trains(loader)
        watch.trains(loader)
    return said


def test_a_missing_distributed_sampler_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    (said,) = told(monkeypatch, DataLoader(data(), 4, shuffle=True), DataLoader(data(), 4, shuffle=True))
    assert "2 ranks read the same 40 samples each, as the loader has no DistributedSampler" in said


def test_ranks_with_the_same_shard_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    (said,) = told(monkeypatch, shard(0, 3), shard(1, 3), shard(1, 3))
    assert "ranks 1 and 2 read the same shard 1 of 3" in said


def test_what_is_right_or_can_t_be_told_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stream(torch.utils.data.IterableDataset[Any]):
        pass

    class Hidden(torch.utils.data.Dataset[Any]):
        def __len__(self) -> int:
            return 40

    assert told(monkeypatch, shard(0), shard(1)) == []
    assert told(monkeypatch, DataLoader(data(0), 4), DataLoader(data(1), 4)) == [], "a data set each"
    halves = [Subset(data(), range(n, 40, 2)) for n in range(2)]
    assert told(monkeypatch, *(DataLoader(half, 4) for half in halves)) == [], "divided by hand"
    assert told(monkeypatch, DataLoader(Stream()), DataLoader(Stream())) == []
    assert told(monkeypatch, DataLoader(Hidden()), DataLoader(Hidden())) == []
    assert told(monkeypatch, DataLoader(data(), 4)) == [], "one rank"


def epochs(loader: Any, count: int, *, call: bool = False, whole: bool = True) -> list[str]:
    said: list[str] = []
    watch = Sampling(said.append)
    for epoch in range(count):
        if call:
            loader.sampler.set_epoch(epoch)
        iterator = iter(loader)
        watch.iterates(iterator, loader)
        if whole:
            watch.ended(iterator)
    return said


def test_a_missing_set_epoch_is_named() -> None:
    (said,) = epochs(shard(0), 2)
    assert "epoch 0 is read again" in said
    assert "set_epoch" in said
    assert epochs(shard(0), 3, call=True) == []
    assert epochs(shard(0), 3, whole=False) == [], "a look at the first batch"
    assert epochs(shard(0, shuffle=False), 3) == []


def first_steps(*models: Any) -> list[str]:
    store, said = dist.HashStore(), []
    for model in models:
        watch = FirstStep(said.append)
        watch.begin_cell("cell", len(models), store)
        watch.stepped(Wrapped(model))
        watch.stepped(Wrapped(model))
    return said


class Wrapped(torch.nn.Module):
    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.module = module


def layer(shift: float = 0.0, width: int = 3) -> torch.nn.Module:
    torch.manual_seed(0)
    made = torch.nn.Sequential(torch.nn.Linear(3, width), torch.nn.Linear(width, 3))
    with torch.no_grad():
        made[1].weight += shift
    return made


def test_parameters_that_differ_at_the_first_step_are_named() -> None:
    (said,) = first_steps(layer(), layer(0.01))
    assert "parameters differ between ranks after the first step (1.weight)" in said
    assert first_steps(layer(), layer()) == []
    assert first_steps(layer(), layer(width=5)) == [], "different models, on purpose"
    assert first_steps(layer()) == []
