"""`dt.log` records numbers of a step, and refuses what is not one in a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

from dtrain_lab.errors import BadRequest
from dtrain_lab.training import averages
from dtrain_lab.training import log as logging
from dtrain_lab.training.rank_hooks import hooks

Record = tuple[int, dict[str, float]]


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[Record]:
    """What is recorded, as on rank 0."""
    found: list[Record] = []
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setattr(hooks, "log", lambda step, values, *_: found.append((step, values)))
    return found


@pytest.mark.parametrize("step", [3, 3.0, torch.tensor(3), torch.tensor([3])])
def test_a_step_is_a_whole_number(recorded: list[Record], step: object) -> None:
    logging.log(step, loss=torch.tensor(0.5))  # type: ignore[arg-type]
    assert recorded == [(3, {"loss": 0.5})]


@pytest.mark.parametrize("step", ["epoch", None, float("nan"), float("inf"), torch.ones(2)])
def test_another_step_is_refused_and_named(recorded: list[Record], step: object) -> None:
    with pytest.raises(BadRequest, match=r"dt\.log: step is ") as refused:
        logging.log(step, loss=0.5)  # type: ignore[arg-type]
    assert "whole number" in str(refused.value)
    assert recorded == []


def test_means_are_of_one_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell that was interrupted has called `dt.log` more often on one rank than on the other."""
    cells: list[tuple[str, Any]] = [("first", dist.HashStore())]
    monkeypatch.setattr(averages, "PATIENCE_S", 60.0)
    means: list[Record] = []
    ranks = [
        averages.Means(None, rank, 2, lambda step, values, _: means.append((step, values)), lambda: cells[-1])
        for rank in range(2)
    ]
    ranks[0].put(10, {"loss": 4.0})  # rank 1 was interrupted before
    cells.append(("second", dist.HashStore()))
    for rank, loss in zip(ranks, (1.0, 3.0), strict=True):
        rank.put(10, {"loss": loss})
    ranks[0].settle(10)
    assert means == [(10, {"loss": 4.0}), (10, {"loss": 2.0})]


def test_a_mean_that_fails_costs_no_later_one(capfd: pytest.CaptureFixture[str]) -> None:
    store, means = dist.HashStore(), list[Record]()

    def record(step: int, values: dict[str, float], _: float) -> None:
        if step == 1:
            raise ValueError("no room")
        means.append((step, values))

    rank = averages.Means(store, 0, 1, record)
    rank.put(1, {"loss": 4.0})
    rank.put(2, {"loss": 3.0})
    rank.settle(10)
    assert means == [(2, {"loss": 3.0})]
    assert "the mean of step 1 is missing: ValueError: no room" in capfd.readouterr().err


# the file is open as long as the process lives
@pytest.mark.filterwarnings("ignore:unclosed file")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_it_is_recorded_whether_a_value_is_a_mean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As found: the page could only say "rank 0, or the mean if averaged"."""
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setattr(hooks, "log", hooks.log)
    monkeypatch.setattr(logging, "_means", [])
    logging.to_file(str(tmp_path / "values.jsonl"))
    monkeypatch.setattr(logging.ranks, "grouped", lambda: True)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        logging.log(1, loss=0.5)
        logging.log(2, average=True, loss=0.25)
        logging._means[0][1].settle(10)
    finally:
        dist.destroy_process_group()
    told = [json.loads(line) for line in (tmp_path / "values.jsonl").read_text().splitlines()]
    assert [(one["step"], one["values"], one.get("averaged")) for one in told] == [
        (1, {"loss": 0.5}, None),
        (2, {"loss": 0.25}, True),
    ]
