"""Tuning of bucket sizes on ranks that have made different numbers of steps, or that don't all tune."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

import dtrain_lab as dt
from dtrain_lab.training import averages, store_exchange
from dtrain_lab.training.gradients import buckets
from tests.gloo import on_ranks

pytestmark = pytest.mark.processes


def tuned(group: Any) -> tuple[Any, Any]:
    model: Any = DDP(nn.Sequential(nn.Linear(6, 600), nn.Linear(600, 600)), process_group=group)
    return dt.optimize(model, torch.optim.SGD(model.parameters(), lr=0.01), bucket_cap_mb="tune")


def train(model: Any, optimizer: Any) -> bool:
    for _ in range(3 * (buckets.UNTIMED_STEPS + buckets.MOST_STEPS)):
        optimizer.zero_grad()
        model(torch.ones(2, 6)).sum().backward()
        optimizer.step()
    return bool(model.bucket_tuning.done)


def some() -> bool:
    buckets.MOST_STEPS = 3
    alone = torch.distributed.new_group([0])
    if torch.distributed.get_rank() == 0:
        assert train(*tuned(alone))
    store_exchange.begin_cell("first", averages.store_of_group())
    model, optimizer = tuned(None)
    for _ in range(2 + torch.distributed.get_rank()):  # then they are interrupted
        optimizer.step()
    store_exchange.begin_cell("second", averages.store_of_group())
    return train(model, optimizer)


def test_ranks_tune_at_the_same_steps() -> None:
    assert [done for done, _ in on_ranks(some)] == [True, True]


def epochs() -> tuple[bool, int]:
    """A cell has fewer steps than a size needs."""
    model, optimizer = tuned(None)
    for cell in range(12):
        store_exchange.begin_cell(f"epoch {cell}", averages.store_of_group())
        for _ in range(20):
            optimizer.step()
    return bool(model.bucket_tuning.done), len(model.bucket_tuning.curve)


def interrupted() -> Any:
    """One rank is interrupted where it is about to change to the next size, or is done."""
    buckets.MOST_STEPS = 3
    first, use, found = torch.distributed.get_rank() == 0, buckets.Tuning._use, []
    for at in (1, 3):  # the second size, or where the best of three is chosen
        store_exchange.begin_cell(f"before {at}", averages.store_of_group())
        model, optimizer = tuned(None)
        tuning = model.bucket_tuning

        def using(self: Any, size: Any, tuning: Any = tuning, at: int = at) -> None:
            now = first and len(tuning.curve) == at
            if now and at == 1:
                raise KeyboardInterrupt
            use(self, size)
            if now:
                raise KeyboardInterrupt

        buckets.Tuning._use = using  # type: ignore[method-assign]
        buckets.LEAST_GAIN = 9.0  # the default is kept: it is not the last size
        try:
            for _ in range(at * (buckets.UNTIMED_STEPS + buckets.MOST_STEPS)):
                optimizer.step()
        except KeyboardInterrupt:
            assert first
        buckets.Tuning._use = use  # type: ignore[method-assign]
        store_exchange.begin_cell(f"after {at}", averages.store_of_group())
        optimizer.step()
        found.append((tuning._index, tuning.done, getattr(model, buckets.SIZES[0])))
        assert train(model, optimizer)
    return found


def test_tuning_goes_on_over_cells() -> None:
    assert [found for found, _ in on_ranks(epochs)] == [(True, 3)] * 2


def test_ranks_have_the_same_size_after_an_interrupt() -> None:
    (one, _), (other, _) = on_ranks(interrupted)
    assert one == other
    assert [index for index, *_ in one] == [0, 2]
    assert not any(done for _, done, _ in one)


def interrupted_as_it_ends() -> bool:
    """The last rank is interrupted amid the gathering at which the others see that all are done."""
    buckets.MOST_STEPS = 3
    last = torch.distributed.get_rank() == 1
    store_exchange.begin_cell("tunes", averages.store_of_group())
    model, optimizer = tuned(None)
    assert train(model, optimizer)
    gather = buckets.ranks.gather

    def gathering(value: Any, group: Any) -> Any:
        told = gather(value, group)
        if last:
            raise KeyboardInterrupt
        return told

    buckets.ranks.gather = gathering
    store_exchange.begin_cell("interrupted", averages.store_of_group())
    try:
        optimizer.step()
    except KeyboardInterrupt:
        assert last
    buckets.ranks.gather = gather
    torch.distributed.barrier()  # as the cell's end
    store_exchange.begin_cell("again", averages.store_of_group())
    optimizer.step()
    return not optimizer._optimizer_step_post_hooks


def test_no_rank_waits_for_one_that_knows_that_all_are_done() -> None:
    assert [done for done, _ in on_ranks(interrupted_as_it_ends)] == [True, True]
