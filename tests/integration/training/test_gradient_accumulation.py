"""Accumulation under loops that are not the plainest: what a model returns, gradients taken away, scalers."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader

import dtrain_lab as dt
from dtrain_lab.errors import BadRequest
from dtrain_lab.training import ranks
from dtrain_lab.training.batch_size import saved_state
from dtrain_lab.training.gradients import active_accumulations
from tests.gloo import on_ranks

pytestmark = pytest.mark.processes

EVERY = 3


class InAnObject(nn.Module):
    """Returns its output as an attribute of a plain object."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = net()

    def forward(self, x: torch.Tensor) -> SimpleNamespace:
        return SimpleNamespace(out=self.inner(x))


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))


def batches(number: int = 2 * EVERY) -> list[torch.Tensor]:
    rank = torch.distributed.get_rank() if torch.distributed.is_initialized() else 0
    torch.manual_seed(1 + rank)
    return [torch.randn(4, 6) for _ in range(number)]


def values(model: nn.Module) -> list[torch.Tensor]:
    return [p.detach().clone() for p in model.parameters()]


def far(a: list[torch.Tensor], b: list[torch.Tensor]) -> float:
    return max(float((x - y).abs().max()) for x, y in zip(a, b, strict=True))


def plain(model: Any, x: torch.Tensor) -> torch.Tensor:
    out = model(x)
    return (out.out if isinstance(out, SimpleNamespace) else out).square().mean()  # type: ignore[no-any-return]


def penalized(model: Any, x: torch.Tensor) -> torch.Tensor:
    """A loss with the norm of its own gradient."""
    loss = model(x).square().mean()
    gradients = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
    return loss + sum(g.square().sum() for g in gradients)  # type: ignore[no-any-return]


def trained(made: Any, loss: Any) -> float:
    """Largest difference of parameters between accumulation and the mean of batches, added by hand."""
    model: Any = made()
    model, optimizer = dt.optimize(
        model, torch.optim.SGD(model.parameters(), lr=0.1), gradient_accumulation_steps=EVERY
    )
    for x in batches():
        optimizer.zero_grad()
        loss(model, x).backward()
        optimizer.step()
    by_hand = made()
    step = torch.optim.SGD(by_hand.parameters(), lr=0.1)
    for number, x in enumerate(batches()):
        (loss(by_hand, x) / EVERY).backward()
        if number % EVERY == EVERY - 1:
            for parameter in by_hand.parameters():
                if torch.distributed.is_initialized():
                    torch.distributed.all_reduce(parameter.grad)
                    parameter.grad /= 2
            step.step()
            step.zero_grad()
    return far(values(model), values(by_hand))


def test_gradients_that_are_taken_away_are_not_accumulated() -> None:
    assert trained(net, penalized) < 1e-5


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("kind", ["sum", "gradient"])
def test_hooks_of_the_user_see_a_group_as_one_large_batch(kind: str, when: str) -> None:
    """Clipping in a hook on `p.grad`, or a mask on gradients, registered before or after `dt.optimize`."""

    def clip(parameter: Any) -> None:
        parameter.grad.clamp_(-0.01, 0.01)

    def hooked(model: Any) -> None:
        for parameter in model.parameters():
            if kind == "sum":
                parameter.register_post_accumulate_grad_hook(clip)
            else:
                parameter.register_hook(lambda gradient: gradient * (gradient > 0))

    model: Any = net()
    before = values(model)
    if when == "before":
        hooked(model)
    _, optimizer = dt.optimize(
        model, torch.optim.SGD(model.parameters(), lr=1.0), gradient_accumulation_steps=EVERY
    )
    if when == "after":
        hooked(model)
    for x in batches(EVERY):
        optimizer.zero_grad()
        plain(model, x * 5).backward()
        optimizer.step()
    by_hand: Any = net()
    if kind == "gradient":
        hooked(by_hand)
    for x in batches(EVERY):
        (plain(by_hand, x * 5) / EVERY).backward()
    for parameter in by_hand.parameters():
        if kind == "sum":
            clip(parameter)
    wanted = [b - p.grad for b, p in zip(before, by_hand.parameters(), strict=True)]
    assert far(values(model), wanted) < 1e-6


def test_a_model_that_is_moved_still_accumulates() -> None:
    model: Any = net()
    _, optimizer = dt.optimize(
        model, torch.optim.SGD(model.parameters(), lr=0.1), gradient_accumulation_steps=EVERY
    )
    model.double()
    same = net().double()
    for x in batches(EVERY):
        optimizer.zero_grad()
        plain(model, x.double()).backward()
        optimizer.step()
        (plain(same, x.double()) / EVERY).backward()
    torch.optim.SGD(same.parameters(), lr=0.1).step()
    assert far(values(model), values(same)) < 1e-9


def steps_through(pairs: Any) -> Any:
    """What accumulates, after an ordinary loop over one epoch."""
    model: Any = net()
    _, optimizer = dt.optimize(
        model, torch.optim.SGD(model.parameters(), lr=0.1), gradient_accumulation_steps=EVERY
    )
    for x in pairs:
        optimizer.zero_grad()
        plain(model, x).backward()
        optimizer.step()
    return active_accumulations.of(optimizer), optimizer


def ahead(loader: Any) -> Iterator[torch.Tensor]:
    """As a prefetcher: reads a batch while the one before is trained on."""
    batch = None
    for following in loader:
        if batch is not None:
            yield batch
        batch = following
    if batch is not None:
        yield batch


@pytest.mark.parametrize("number", [4, 5, 6])
@pytest.mark.parametrize("way", ["ahead", "in order", "first of a zip", "second of a zip"])
def test_batches_that_are_not_read_in_the_usual_order(
    way: str, number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Read ahead, they are told of; zipped, the shorter loader ends the epoch's last group."""
    monkeypatch.setattr(ranks, "_said", set())
    short, long = DataLoader(batches(number), None), DataLoader(batches(9), None)
    read: dict[str, Any] = {
        "ahead": lambda: ahead(short),
        "in order": lambda: short,
        "first of a zip": lambda: (x for x, _ in zip(short, long, strict=False)),
        "second of a zip": lambda: (x for _, x in zip(long, short, strict=False)),
    }
    group, optimizer = steps_through(read[way]())
    assert ("read ahead of the loop" in capsys.readouterr().err) == (way == "ahead")
    assert group.done == (way == "ahead"), "batches that wait for the next group"
    optimizer.flush()


def test_a_group_goes_on_after_steps_that_were_taken_back(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranks, "_said", set())
    model: Any = net()
    _, optimizer = dt.optimize(
        model, torch.optim.SGD(model.parameters(), lr=0.1), gradient_accumulation_steps=EVERY
    )
    one, two, *_ = batches()
    optimizer.zero_grad()
    plain(model, one).backward()
    optimizer.step()
    with active_accumulations.resting(), saved_state.restored():  # as dt.largest_batch does
        optimizer.zero_grad()
        plain(model, two).backward()
        optimizer.step()
    assert active_accumulations.of(optimizer).done == 1  # type: ignore[union-attr]
    assert "is saved" not in capsys.readouterr().err, "a copy of ours is nobody's checkpoint"
    optimizer.state_dict()
    assert "is saved" in capsys.readouterr().err
    optimizer.flush()


class TestScaler:
    """One GradScaler for an optimizer that accumulates and one that does not, as of a GAN."""

    @pytest.mark.parametrize("first", ["ordinary", "accumulating"])
    def test_the_scale_changes_between_groups_only(self, first: str) -> None:
        model, other = net(), net()
        _, a = dt.optimize(
            model, torch.optim.SGD(model.parameters(), lr=0.1), gradient_accumulation_steps=EVERY
        )
        b = torch.optim.SGD(other.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=1)
        scales = []
        for x in batches():
            before = values(other)
            for each in (a, b):
                each.zero_grad()
            scaler.scale(plain(model, x)).backward()
            scaler.scale(plain(other, x)).backward()
            for each in (b, a) if first == "ordinary" else (a, b):
                scaler.step(each)
            scaler.update()
            scales.append(scaler.get_scale())
            assert far(values(other), before) > 0
        assert scales == [8.0, 8.0, 16.0, 16.0, 16.0, 32.0]

    def test_groups_out_of_phase_let_the_scale_fall_and_keep_their_sums(self) -> None:
        """One overflows until the scale is small enough; the other is not touched by it."""
        model, other, same = net(), net(), net()
        made = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (model, other)]
        _, a = dt.optimize(model, made[0], gradient_accumulation_steps=2)
        _, b = dt.optimize(other, made[1], gradient_accumulation_steps=2)
        by_hand = torch.optim.SGD(same.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**40)
        for number, x in enumerate(batches(13)):
            a.zero_grad()
            scaler.scale(plain(model, x) * 1e30).backward()
            scaler.step(a)
            if number:
                b.zero_grad()
                scaler.scale(plain(other, x)).backward()
                scaler.step(b)
                (plain(same, x) / 2).backward()
                if number % 2 == 0:
                    by_hand.step()
                    by_hand.zero_grad()
            scaler.update()
        assert scaler.get_scale() <= 2.0**34
        a.flush()
        assert far(values(other), values(same)) < 1e-5

    def test_a_group_is_flushed_with_its_scale(self) -> None:
        model, same = net(), net()
        _, optimizer = dt.optimize(
            model, torch.optim.SGD(model.parameters(), lr=0.1), gradient_accumulation_steps=EVERY
        )
        by_hand = torch.optim.SGD(same.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
        for x in batches(2):
            optimizer.zero_grad()
            scaler.scale(plain(model, x)).backward()
            scaler.step(optimizer)
            scaler.update()
            (plain(same, x) / 2).backward()
        optimizer.flush()
        by_hand.step()
        assert far(values(model), values(same)) < 1e-6


def sharded() -> tuple[str, str, float]:
    """What is said of models that FSDP1 shards, whole and in part, and by how much they change."""
    from torch.distributed.fsdp import FullyShardedDataParallel

    whole = FullyShardedDataParallel(net(), device_id=torch.device("cpu"))
    part = nn.Sequential(nn.Linear(6, 6), FullyShardedDataParallel(net(), device_id=torch.device("cpu")))
    before, said = values(whole), []
    for model in (whole, part):
        try:
            dt.optimize(model, torch.optim.SGD(model.parameters(), lr=0.1), gradient_accumulation_steps=2)
        except BadRequest as error:
            said.append(str(error))
    return said[0], said[1], far(before, values(whole))


def on_two() -> tuple[float, tuple[str, str, float]]:
    return trained(InAnObject, plain), sharded()


def test_two_ranks_stay_together_or_are_refused() -> None:
    """With a model that returns an object, and with models that are sharded already."""
    for (difference, (whole, part, change)), _ in on_ranks(on_two):
        assert difference < 1e-5
        assert "FullyShardedDataParallel" in whole
        assert "FullyShardedDataParallel" in part
        assert change == 0
