"""Changes that advice tries on a rank are taken back; in this process, as a group of one rank."""

from __future__ import annotations

import types
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from dtrain_lab.rank.diagnosis.change import _accumulating, _cannot_apply, _compressing
from dtrain_lab.rank.torch import ddp
from dtrain_lab.wire.metrics.diagnosis import Change

pytestmark = pytest.mark.processes


@pytest.fixture
def seen(tmp_path: Path) -> Iterator[types.SimpleNamespace]:
    """What the monitor sees of a training."""
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(4, 4))
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.1)]
    yield types.SimpleNamespace(model=model, optimizers=optimizers, loader=None)
    dist.destroy_process_group()


def train(seen: types.SimpleNamespace) -> None:
    seen.optimizers[0].zero_grad()
    seen.model(torch.ones(2, 4)).square().mean().backward()
    seen.optimizers[0].step()


def test_gradients_are_in_16_bits_while_that_is_tried(seen: types.SimpleNamespace) -> None:
    train(seen)
    with _compressing(seen, 0):
        assert ddp.has_hooks(seen.model)
        train(seen)
        coarse = seen.model.module.weight.grad
        assert torch.equal(coarse, coarse.bfloat16().float())
    assert not ddp.has_hooks(seen.model)
    train(seen)
    exact = seen.model.module.weight.grad
    assert not torch.equal(exact, exact.bfloat16().float())


def test_the_optimizer_steps_once_in_so_many_batches_while_that_is_tried(
    seen: types.SimpleNamespace,
) -> None:
    def moved() -> bool:
        before = seen.model.module.weight.detach().clone()
        train(seen)
        return not torch.equal(before, seen.model.module.weight)

    with _accumulating(seen, 3):
        assert [moved() for _ in range(6)] == [False, False, True] * 2
        assert "accumulates" in _cannot_apply(seen, Change("accumulate", 2))
    assert [moved() for _ in range(2)] == [True, True]


def test_what_can_not_be_tried_is_said(seen: types.SimpleNamespace) -> None:
    assert "No DataLoader" in _cannot_apply(seen, Change("workers", 2))
    seen.loader = torch.utils.data.DataLoader(list(range(6)), batch_size=2)
    assert _cannot_apply(seen, Change("workers", 2)) == "The loader has 3 batches, too few to try 2 workers."
    seen.loader = torch.utils.data.DataLoader(list(range(6)), batch_size=None)
    assert "makes no batches of its own" in _cannot_apply(seen, Change("workers", 2))
    assert not _cannot_apply(seen, Change("bf16"))
    seen.model.register_comm_hook(None, lambda state, bucket: None)
    assert "hook already" in _cannot_apply(seen, Change("bf16"))
    assert "No optimizer" in _cannot_apply(
        types.SimpleNamespace(model=seen.model, optimizers=[], loader=None), Change("accumulate", 2)
    )
