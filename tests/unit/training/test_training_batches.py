"""Batch arithmetic, scaled learning rates and the largest batch, in one process."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import psutil
import pytest
import torch
from torch.optim import lr_scheduler

import dtrain_lab as dt
from dtrain_lab.errors import BadRequest, BadSize
from dtrain_lab.metrics import ring
from dtrain_lab.rank.monitor.last_training import LastTraining
from dtrain_lab.training import ranks
from dtrain_lab.training.batch_size import sizes
from dtrain_lab.training.rank_hooks import hooks


@pytest.fixture
def eight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "8")
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setattr(sizes, "_chosen", [])
    monkeypatch.setattr(hooks, "batch", lambda: 0)
    monkeypatch.setattr(hooks, "forget_batch", lambda: None)
    monkeypatch.setattr(ranks, "_said", set())


def test_a_global_batch_is_divided(eight: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert dt.per_rank_batch(256) == 32
    assert dt.global_batch() == 256
    assert dt.global_batch(16) == 128
    assert capsys.readouterr().err == ""


def test_a_dropped_remainder_is_said_once(eight: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert dt.per_rank_batch(100) == 12
    assert dt.per_rank_batch(100) == 12
    assert capsys.readouterr().err.count("each rank takes 12, and the global batch is 96 (4 dropped)") == 1


def test_only_rank_0_says_it(
    eight: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RANK", "3")
    assert dt.per_rank_batch(100) == 12
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("wrong", [0, -4, 2.5, True, "64", None])
def test_what_is_no_batch_is_refused(eight: None, wrong: Any) -> None:
    with pytest.raises(BadRequest, match="whole number of 1 or more"):
        dt.per_rank_batch(wrong)


def test_a_batch_smaller_than_the_world_is_refused(eight: None) -> None:
    with pytest.raises(BadRequest, match="global batch of 5 is less than the 8 ranks"):
        dt.per_rank_batch(5)


def test_the_batch_that_the_monitor_saw_counts_where_none_was_chosen(eight: None) -> None:
    with pytest.raises(BadRequest, match="no per-rank batch is known"):
        dt.global_batch()
    hooks.batch = lambda: 4
    assert dt.global_batch() == 32


def test_a_chosen_batch_counts_until_training_goes_on_with_another(eight: None) -> None:
    seen = LastTraining({ring.STEPS: 0, ring.CELL_STEPS: 0})
    hooks.batch, hooks.forget_batch = lambda: seen.batch, seen.forget_batch
    model = torch.nn.DataParallel(torch.nn.Linear(2, 1))  # has its module as DDP has

    def train(batch: int) -> None:
        x = torch.ones(batch, 2)
        if not seen.again(model, x.shape):
            seen.forward(model, x, (x,), {})

    train(16)
    assert dt.global_batch() == 128
    dt.per_rank_batch(32)
    assert dt.global_batch() == 32, "though the model has trained with another before"
    for batch in (8, 8, 3):
        train(batch)
    assert dt.global_batch() == 64, "the last batch of an epoch may be smaller"
    made, _ = seen.arguments() or ((), {})
    assert made[0].shape == (16, 2), "the largest is what is replayed"
    dt.per_rank_batch(256)
    train(8)
    assert dt.global_batch() == 64


def test_one_process_is_a_world_of_one() -> None:
    assert dt.per_rank_batch(7) == 7


def rates(scheduler: Any, steps: int) -> list[float]:
    found = []
    for _ in range(steps):
        found.append(round(float(scheduler.get_last_lr()[0]), 6))
        scheduler.optimizer.step()
        scheduler.step()
    return found


def sgd(lr: float = 0.1) -> torch.optim.SGD:
    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(2))], lr=lr)


def test_the_rate_ramps_to_factor_times_rate() -> None:
    scheduler = dt.scale_lr(sgd(), 4, warmup_steps=3)
    assert isinstance(scheduler, torch.optim.lr_scheduler.LRScheduler)
    assert rates(scheduler, 5) == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.4])
    assert rates(dt.scale_lr(sgd(), 4, rule="sqrt"), 2) == [0.2, 0.2]


def test_a_resumed_ramp_goes_on() -> None:
    first = dt.scale_lr(sgd(), 4, warmup_steps=3)
    rates(first, 2)
    optimizer = sgd()
    resumed = dt.scale_lr(optimizer, 1)
    optimizer.load_state_dict(first.optimizer.state_dict())
    resumed.load_state_dict(first.state_dict())
    assert rates(resumed, 3) == pytest.approx([0.3, 0.4, 0.4])
    assert optimizer.param_groups[0]["initial_lr"] == 0.4


FOLLOWERS: dict[str, Callable[[torch.optim.Optimizer], Any]] = {
    "step": lambda o: lr_scheduler.StepLR(o, 7, 0.1),
    "exponential": lambda o: lr_scheduler.ExponentialLR(o, 0.9),
    "cosine": lambda o: lr_scheduler.CosineAnnealingLR(o, 12),
    "milestones": lambda o: lr_scheduler.MultiStepLR(o, [6, 9]),
}


@pytest.mark.filterwarnings("ignore:The epoch parameter:UserWarning")  # SequentialLR of torch 2.8 itself
@pytest.mark.parametrize("name", FOLLOWERS)
def test_other_schedulers_go_on_beside_a_ramp_and_after_it_as_with_torch_s_own(name: str) -> None:
    def ours(optimizer: torch.optim.Optimizer) -> Any:
        return dt.scale_lr(optimizer, 8, warmup_steps=5)

    def theirs(optimizer: torch.optim.Optimizer) -> Any:
        for group in optimizer.param_groups:
            group["lr"] *= 8
        return lr_scheduler.LinearLR(optimizer, 1 / 8, total_iters=5)

    def course(ramp: Callable[[Any], Any], *, after: bool) -> list[float]:
        optimizer = sgd()
        first, second = ramp(optimizer), FOLLOWERS[name](optimizer)
        if after:
            return rates(lr_scheduler.SequentialLR(optimizer, [first, second], [5]), 14)
        return rates(lr_scheduler.ChainedScheduler([first, second]), 14)

    for after in (False, True):
        assert course(ours, after=after) == pytest.approx(course(theirs, after=after)), after


def test_a_ramp_begins_at_today_s_rate_and_may_lead_down() -> None:
    optimizer = sgd()
    decayed = lr_scheduler.ExponentialLR(optimizer, 0.1)
    rates(decayed, 1)
    ramp = dt.scale_lr(optimizer, 8, warmup_steps=4)
    assert rates(ramp, 6) == pytest.approx([0.01, 0.0275, 0.045, 0.0625, 0.08, 0.08])
    again = sgd()
    for factor in (4, 4, 2):
        dt.scale_lr(again, factor)
    assert again.param_groups[0]["lr"] == pytest.approx(0.2), "a cell that runs again"
    assert rates(dt.scale_lr(sgd(), 0.25, warmup_steps=3), 5) == pytest.approx(
        [0.1, 0.075, 0.05, 0.025, 0.025]
    )
    tensor = torch.optim.Adam([torch.nn.Parameter(torch.ones(1))], lr=torch.tensor(0.1))
    assert [float(x) for x in rates(dt.scale_lr(tensor, 4, warmup_steps=3), 5)] == pytest.approx(
        [0.1, 0.2, 0.3, 0.4, 0.4]
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"factor": 0}, "the factor is 0"),
        ({"factor": float("inf")}, "the factor is inf"),
        ({"factor": 2, "rule": "cubic"}, "the rule is 'cubic'"),
        ({"factor": 2, "warmup_steps": -1}, "warmup_steps is -1"),
    ],
)
def test_a_scale_that_can_t_be_meant_is_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        dt.scale_lr(sgd(), **arguments)


MB = 2**20


def test_the_largest_batch_keeps_to_the_memory_and_leaves_everything_as_it_was() -> None:
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    model(torch.ones(1, 4)).sum().backward()
    optimizer.step()
    parameters = [p.detach().clone() for p in model.parameters()]
    steps = optimizer.state_dict()["state"][0]["step"].item()
    random = torch.get_rng_state().clone()
    tried = []

    def step(size: int) -> None:
        tried.append(size)
        held = torch.ones(size, 4 * MB // 4)  # 4 MB a sample
        optimizer.zero_grad()
        (model(torch.randn(size, 4)).sum() * held[0, 0]).backward()
        optimizer.step()

    room = psutil.Process().memory_info().rss + 200 * MB
    found = dt.largest_batch(step, memory_bytes=room)
    assert 35 <= found <= 52, tried
    assert max(tried) <= 2 * found
    assert all(torch.equal(a, b) for a, b in zip(parameters, model.parameters(), strict=True))
    assert optimizer.state_dict()["state"][0]["step"].item() == steps
    assert torch.equal(random, torch.get_rng_state())


def test_what_does_not_fit_at_all_is_said() -> None:
    with pytest.raises(BadSize, match="a batch of 2 does not fit: the process takes"):
        dt.largest_batch(lambda size: None, start=2, memory_bytes=1000)
    with pytest.raises(BadRequest, match="start is 0"):
        dt.largest_batch(lambda size: None, start=0)
    with pytest.raises(ZeroDivisionError):
        dt.largest_batch(lambda size: 1 / 0)


def test_a_folder_of_this_rank(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANK", "2")
    assert dt.rank_dir() == tmp_path / "ranks" / "rank-2"
    with dt.rank_dir() as folder:
        (folder / "data").write_text("mine")
    assert os.listdir(tmp_path / "ranks" / "rank-2") == ["data"]
    with dt.main_first(), dt.once_per_node():
        pass
