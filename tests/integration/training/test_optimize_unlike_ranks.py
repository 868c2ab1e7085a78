"""`dt.optimize` where ranks or optimizers are not alike: a sentence, no wrong sum, no lost process."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, IterableDataset

import dtrain_lab as dt
from dtrain_lab.errors import BadRequest
from dtrain_lab.training import ranks, store_exchange
from dtrain_lab.training.gradients import active_accumulations
from tests.gloo import on_ranks

pytestmark = pytest.mark.processes


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 3))


def refused(call: Callable[[], Any]) -> str:
    """What a call was refused with; empty where it was not."""
    try:
        call()
    except BadRequest as error:
        return str(error)
    return ""


def optimized(model: Any, **switches: Any) -> Any:
    return dt.optimize(model, torch.optim.SGD(model.parameters(), lr=0.1), **switches)


def differing() -> dict[str, str]:
    me = ranks.rank()
    found = {
        "compression": refused(lambda: optimized(DDP(net()), gradient_compression=("fp16", "bf16")[me])),
        "steps": refused(lambda: optimized(net(), gradient_accumulation_steps=(2, 3)[me])),
        "refused": refused(lambda: optimized(net(), gradient_accumulation_steps=me)),
    }
    torch.distributed.barrier()
    patience, store_exchange.PATIENCE_S, store_exchange.TOLD_S = store_exchange.PATIENCE_S, 0.5, 0.2
    for caller in (0, 1):  # rank 1 comes too late
        if me == caller:
            found["alone"] = refused(lambda: optimized(net(), gradient_accumulation_steps=2))
        torch.distributed.barrier()
    store_exchange.PATIENCE_S = patience
    found["afterwards"] = refused(lambda: optimized(net(), gradient_accumulation_steps=2))
    return found


def test_switches_that_differ_between_ranks_are_refused_on_all() -> None:
    (first, said), (second, _) = on_ranks(differing)
    for found in (first, second):
        assert "gradient_compression is 'fp16' on rank 0 and 'bf16' on rank 1" in found["compression"]
        assert "gradient_accumulation_steps is 2 on rank 0 and 3 on rank 1" in found["steps"]
        assert "gradient_accumulation_steps is 0" in found["refused"]
        assert found["afterwards"] == ""
    assert "given up on rank 0" in second["refused"]
    assert "rank 1 did not call dt.optimize" in first["alone"]
    assert "this rank waits for rank 1" in said
    assert "rank 0 has waited" in second["alone"]


def halves(both: bool) -> tuple[str, float]:
    """Train a model whose layers have an optimizer each."""
    model: Any = DDP(net())
    body: Any = torch.optim.SGD(model.module[0].parameters(), lr=0.1)
    head: Any = torch.optim.SGD(model.module[2].parameters(), lr=0.1)
    model, body = dt.optimize(model, body, gradient_accumulation_steps=2)
    if both:
        model, head = dt.optimize(model, head, gradient_accumulation_steps=2)

    def train() -> None:
        for batch in range(4):
            torch.manual_seed(2 * batch + ranks.rank())
            body.zero_grad()
            head.zero_grad()
            model(torch.randn(4, 6)).square().mean().backward()
            body.step()
            head.step()

    said = refused(train)
    mine = torch.cat([p.detach().flatten() for p in model.parameters()])
    theirs = [torch.empty_like(mine) for _ in range(2)]
    torch.distributed.all_gather(theirs, mine)
    return said, float((theirs[0] - theirs[1]).abs().max())


def halves_of_all() -> Any:
    one, both = halves(False), halves(True)
    model = DDP(net())
    head = torch.optim.SGD(model.module[2].parameters(), lr=0.1)
    optimized(net(), gradient_accumulation_steps=2)  # another model's, which does not matter here
    model(torch.ones(1, 6)).sum().backward()
    return one, both, refused(head.step)


def test_an_optimizer_beside_one_that_accumulates_can_not_drift() -> None:
    for (one, both, other), _ in on_ranks(halves_of_all):
        assert "(SGD) is about to step 2.weight, 2.bias" in one[0]
        assert "only once in 2 batches" in one[0]
        assert "gradient_accumulation_steps=2" in one[0]
        assert one[1] == 0
        assert both == ("", 0)
        assert other == ""


def incomplete(flush: bool) -> None:
    model, optimizer = optimized(net(), gradient_accumulation_steps=4)
    for _ in range(6):
        optimizer.zero_grad()
        model(torch.ones(2, 6)).sum().backward()
        optimizer.step()
    if flush:
        optimizer.flush()


def left_over() -> tuple[bool, bool, int]:
    incomplete(flush=True)
    active_accumulations.tell_unfinished()
    gc.collect()
    quiet = not ranks._said
    model, optimizer = optimized(net(), gradient_accumulation_steps=3)
    for _ in range(2):
        model(torch.ones(2, 6)).sum().backward()
        optimizer.step()
        active_accumulations.tell_unfinished()
    at_end = any("last 2 of 3 batches" in text for text in ranks._said) or ranks.rank() > 0
    optimizer.flush()
    incomplete(flush=False)
    gc.collect()
    return quiet, at_end, len(ranks._said)


def test_batches_of_a_group_that_never_ends_are_told_once() -> None:
    (found, said), (_, silent) = on_ranks(left_over)
    assert found[:2] == (True, True)
    assert said.count("last 2 of 4 batches") == 1
    assert "Call optimizer.flush() after a loop that leaves its DataLoader early" in said
    assert silent == ""


class Stream(IterableDataset):  # type: ignore[type-arg]
    """Rank 0 has 5 batches of 2, rank 1 has 7."""

    def __iter__(self) -> Iterator[torch.Tensor]:
        for _ in range(14 if ranks.rank() else 10):
            yield torch.ones(6)


def uneven() -> str:
    model, optimizer = optimized(net(), gradient_accumulation_steps=3)
    store_exchange.PATIENCE_S = 0.5
    try:
        for x in DataLoader(Stream(), 2):
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
    except BadRequest as error:
        torch.distributed.destroy_process_group()  # so the other rank ends, too
        return str(error)
    except RuntimeError:
        return "the other rank has left"
    return ""


def test_a_stream_that_ends_earlier_on_one_rank_is_told_and_no_process_is_lost() -> None:
    (first, _), (second, _) = on_ranks(uneven)
    assert "the data of this rank has ended with 2 batches of an incomplete group" in first
    assert "rank 1 did not reach the end" in first
    assert second == "the other rank has left"
