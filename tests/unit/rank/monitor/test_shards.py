"""Whether a loader gives each rank its own part of the data, as far as its sampler says so."""

from __future__ import annotations

from typing import Any

import pytest
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, SequentialSampler

from dtrain_lab.rank.monitor.checks.shards import splits

DATA: Any = list(range(16))


def shard(replicas: int = 2) -> Any:
    return DistributedSampler(DATA, num_replicas=replicas, rank=0)


@pytest.mark.parametrize(
    ("loader", "split"),
    [
        (DataLoader(DATA, 4, sampler=shard()), True),
        (DataLoader(DATA, batch_sampler=BatchSampler(shard(), 4, drop_last=False)), True),
        (DataLoader(DATA, batch_size=None, sampler=shard()), True),
        (DataLoader(DATA, 4, sampler=shard(1)), False),
        (DataLoader(DATA, 4), False),
        (DataLoader(DATA, batch_sampler=BatchSampler(SequentialSampler(DATA), 4, drop_last=False)), False),
    ],
)
def test_a_distributed_sampler_splits_the_data(loader: Any, split: bool) -> None:
    assert splits(loader) is split
