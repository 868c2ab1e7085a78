"""Changes that advice tries on a rank are taken back; in this process, as a group of one rank."""

from __future__ import annotations

import gc
import re
import time
import types
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from dtrain_lab.rank.diagnosis import try_advice
from dtrain_lab.rank.diagnosis.measure import cannot_repeat
from dtrain_lab.rank.diagnosis.try_advice import (
    _accumulating,
    _cannot_apply,
    _compressing,
    _with_averaging,
    _with_workers,
)
from dtrain_lab.rank.torch import ddp
from dtrain_lab.wire.metrics.diagnosis import Change
from tests.gloo import on_ranks

pytestmark = pytest.mark.processes
ITEM_S = 0.02


@pytest.fixture(scope="module", autouse=True)
def group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """It outlives the models: see rank/group/retained_groups.py."""
    store = dist.FileStore(str(tmp_path_factory.mktemp("group") / "store"), 1)
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    kept = dist.group.WORLD
    dist.destroy_process_group()
    gc.collect()
    del kept


@pytest.fixture
def seen() -> types.SimpleNamespace:
    """What the monitor sees of a training."""
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(4, 4))
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.1)]
    return types.SimpleNamespace(model=model, optimizers=optimizers, loader=None, reads=True, passes=(True,))


class Stream(torch.utils.data.IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(60))

    def __len__(self) -> int:
        return 60


class Slow(torch.utils.data.Dataset[Any]):
    """Items that take `ITEM_S` each."""

    def __len__(self) -> int:
        return 60

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(ITEM_S)
        return torch.ones(4)


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
        assert "accumulates" in _cannot_apply(seen, Change("accumulate", 2, "optimize"))
        assert not _cannot_apply(seen, Change("accumulate", 2, "loop"))
    assert [moved() for _ in range(2)] == [True, True]


@pytest.mark.parametrize("way", ["loop", "optimize"])
def test_what_is_tried_is_what_is_offered(seen: types.SimpleNamespace, way: str) -> None:
    """The changed loop steps once for a group, of which only the last batch sends gradients."""
    seen.arguments, seen.autocast = lambda: ((torch.ones(2, 4),), {}), None
    said: list[str] = []
    model, [optimizer] = seen.model, seen.optimizers
    model.register_forward_pre_hook(
        lambda *_: said.append("sends" if model.require_backward_grad_sync else "keeps")
    )
    optimizer.register_step_post_hook(lambda *_: said.append("steps"))
    report = _with_averaging(seen, (True,), Change("accumulate", 3, way))
    assert len(report.changed) == len(report.with_sync) > 1
    assert report.steps % 3 == 0
    told = " ".join(said)
    assert told.startswith("sends steps sends steps"), "without the change"
    assert "keeps keeps sends steps keeps keeps sends steps" in told
    assert not [
        each
        for each in told.split("steps")
        if each.split() not in (["sends"], ["keeps", "keeps", "sends"], [])
    ]
    assert "step" not in optimizer.__dict__, "it was taken back"


def test_workers_gain_nothing_by_what_they_read_while_no_step_runs(
    seen: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ranks exchange more than their steps do: workers must not be credited with what they read then."""
    exchange = try_advice.of_all

    def slowly(value: Any) -> Any:
        time.sleep(10 * ITEM_S)
        return exchange(value)

    monkeypatch.setattr(try_advice, "of_all", slowly)
    # however slow this machine is, no step is left out for its time
    monkeypatch.setattr(try_advice, "WARM_UP_S", 3600.0)
    monkeypatch.setattr(try_advice, "FED_S", 3600.0)
    seen.arguments, seen.autocast = lambda: ((torch.ones(2, 4),), {}), None
    seen.loader = torch.utils.data.DataLoader(Slow())
    report = _with_workers(seen, (True,), Change("workers", 2))
    assert len(report.changed) == report.steps >= 20, "several rounds of 2 workers with 2 batches each"
    # on a busy machine, workers may have read ahead before the first of the steps; then they read no faster
    ahead = 2 * 2
    assert sum(report.changed) >= (report.steps - ahead) * ITEM_S / 2, "two workers read twice as fast"


def test_a_loader_that_is_too_slow_is_left(
    seen: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no bound by itself: its workers read ahead before anything is timed."""
    monkeypatch.setattr(try_advice, "WARM_UP_S", 2 * ITEM_S)
    seen.arguments, seen.autocast = lambda: ((torch.ones(2, 4),), {}), None
    seen.loader = torch.utils.data.DataLoader(Slow(), batch_size=3)
    report = _with_workers(seen, (True,), Change("workers", 2))
    assert not report.changed
    assert re.match(
        r"The loader is too slow to measure: it fed 1 of the first 5 steps in \d+ s\.", report.error
    )


def test_a_slow_loader_is_timed_over_few_steps(
    seen: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(try_advice, "FED_S", ITEM_S)
    seen.arguments, seen.autocast = lambda: ((torch.ones(2, 4),), {}), None
    seen.loader = torch.utils.data.DataLoader(Slow(), batch_size=3)
    report = _with_workers(seen, (True,), Change("workers", 2))
    assert (len(report.with_sync), report.steps) == (2, 2)


def test_what_can_not_be_tried_is_said(seen: types.SimpleNamespace) -> None:
    assert "The DataLoader that training read" in _cannot_apply(seen, Change("workers", 2))
    seen.reads = False
    assert "Training reads no DataLoader" in _cannot_apply(seen, Change("workers", 2))
    seen.reads = True
    seen.loader = torch.utils.data.DataLoader(list(range(6)), batch_size=2)
    assert _cannot_apply(seen, Change("workers", 2)) == "The loader has 3 batches, too few to tell."
    seen.loader = torch.utils.data.DataLoader(list(range(100)), num_workers=1, prefetch_factor=128)
    assert _cannot_apply(seen, Change("workers", 2)) == "The loader has 100 batches, too few to tell."
    seen.loader = torch.utils.data.DataLoader(Stream())
    assert "a stream" in _cannot_apply(seen, Change("workers", 2))
    seen.loader = torch.utils.data.DataLoader(list(range(60)), batch_size=None)
    assert "has no batch sampler" in _cannot_apply(seen, Change("workers", 2))
    assert not _cannot_apply(seen, Change("bf16"))
    seen.model.register_comm_hook(None, lambda state, bucket: None)
    assert "hook already" in _cannot_apply(seen, Change("bf16"))
    assert "The optimizer no longer exists" in _cannot_apply(
        types.SimpleNamespace(model=seen.model, optimizers=[], loader=None, reads=True, passes=(True,)),
        Change("accumulate", 2),
    )


def test_a_step_of_lbfgs_is_not_repeated(seen: types.SimpleNamespace) -> None:
    seen.repeatable = seen.trained = True
    seen.trains_no_model = False
    assert cannot_repeat(seen).text == ""
    seen.optimizers = [torch.optim.LBFGS(seen.model.parameters())]
    assert "LBFGS calls the training code itself" in cannot_repeat(seen).text


def test_ranks_train_on_alike_when_compression_was_tried() -> None:
    on_ranks(_train_in_all_ways)


def _train_in_all_ways() -> None:
    for options in ({}, {"gradient_as_bucket_view": True}, {"static_graph": True}):
        _try_and_train(options)


def _try_and_train(options: dict[str, bool]) -> None:
    torch.manual_seed(0)
    layers = [torch.nn.Linear(4, 64), torch.nn.Linear(64, 4)]
    model = DistributedDataParallel(torch.nn.Sequential(*layers), **options)
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.1)]
    seen = types.SimpleNamespace(model=model, optimizers=optimizers, loader=None, reads=True, passes=(True,))
    for _ in range(3):
        train(seen)
        with _compressing(seen, 0):
            train(seen)
            train(seen)
    train(seen)
    weights = torch.cat([p.detach().flatten() for p in model.parameters()])
    both = [torch.empty_like(weights) for _ in range(2)]
    dist.all_gather(both, weights)
    assert torch.equal(both[0], both[1])
    gradients = torch.cat([p.grad.flatten() for p in model.parameters()])
    assert not torch.equal(gradients, gradients.bfloat16().float()), "in 32 bits again"
