"""Tuning of bucket sizes on ranks that have made different numbers of steps, or that don't all tune."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

import dtrain_lab as dt
from dtrain_lab.training import averages, meeting
from dtrain_lab.training.gradients import buckets
from tests.gloo import on_ranks

pytestmark = pytest.mark.processes


def tuned(group: Any) -> tuple[Any, Any]:
    model: Any = DDP(nn.Sequential(nn.Linear(6, 600), nn.Linear(600, 600)), process_group=group)
    return dt.optimize(model, torch.optim.SGD(model.parameters(), lr=0.01), bucket_cap_mb="tune")


def train(model: Any, optimizer: Any) -> bool:
    for _ in range(3 * (buckets.WARM + buckets.MOST_STEPS)):
        optimizer.zero_grad()
        model(torch.ones(2, 6)).sum().backward()
        optimizer.step()
    return bool(model.bucket_tuning.done)


def some() -> bool:
    buckets.MOST_STEPS = 3
    alone = torch.distributed.new_group([0])
    if torch.distributed.get_rank() == 0:
        assert train(*tuned(alone))
    meeting.begin_cell("first", averages.store_of_group())
    model, optimizer = tuned(None)
    for _ in range(2 + torch.distributed.get_rank()):  # then they are interrupted
        optimizer.step()
    meeting.begin_cell("second", averages.store_of_group())
    return train(model, optimizer)


def test_ranks_tune_at_the_same_steps() -> None:
    assert [done for done, _ in on_ranks(some)] == [True, True]
