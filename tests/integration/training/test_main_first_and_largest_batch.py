"""Turns of ranks, means over ranks and the largest batch on two gloo ranks."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
import torch

import dtrain_lab as dt
from dtrain_lab.errors import FirstRankFailed
from tests.gloo import on_ranks

pytestmark = pytest.mark.processes


def rank() -> int:
    return int(os.environ["RANK"])


def turns() -> list[Any]:
    seen: list[Any] = []
    with dt.main_first():
        if rank() == 0:
            Path("data").write_text("there")
        seen.append(Path("data").read_text())
    with dt.once_per_node():
        if rank() == 0:
            Path("more").write_text("there")
        seen.append(Path("more").read_text())
    try:
        with dt.main_first():
            if rank() == 0:
                raise FileNotFoundError("no such bucket")
            seen.append("others ran")
    except (FileNotFoundError, FirstRankFailed) as error:
        seen.append(str(error))
    seen.append(dt.rank_dir().name)
    return seen


def test_rank_0_goes_first_and_its_error_is_raised_on_all() -> None:
    (first, _), (second, _) = on_ranks(turns)
    assert first == ["there", "there", "no such bucket", "rank-0"]
    assert second[:2] == ["there", "there"]
    assert "rank 0, for which this rank waited, raised FileNotFoundError: no such bucket" in second[2]
    assert second[3] == "rank-1"


def logged() -> list[Any]:
    from dtrain_lab.training import averages
    from dtrain_lab.training.rank_hooks import hooks

    averages.PATIENCE_S = 0.5
    got: list[Any] = []
    hooks.log = lambda step, values, at, averaged: got.append((step, values))
    for step in range(4):
        dt.log(step, average=2, loss=torch.tensor(float(step + rank())))
    dt.log(4, plain=float(rank()))
    for step in range(5, 8):
        if rank() == 0 or step != 6:
            dt.log(step, average=True, loss=float(rank()))
    until = time.monotonic() + 20
    while rank() == 0 and len(got) < 6 and time.monotonic() < until:
        time.sleep(0.05)
    return sorted(got)


def test_values_are_averaged_and_ragged_calls_hold_nobody_up() -> None:
    (first, said), (second, _) = on_ranks(logged)
    assert first == [
        (0, {"loss": 0.5}),
        (2, {"loss": 2.5}),
        (4, {"plain": 0.0}),
        (5, {"loss": 0.5}),
        (6, {"loss": 0.0}),
        (7, {"loss": 0.5}),
    ]
    assert second == []
    assert "rank 1 did not log step 6" in said


def largest() -> int:
    import psutil

    norm = torch.nn.SyncBatchNorm(4)

    def step(size: int) -> torch.Tensor:
        norm(torch.ones(4, 4))  # with others it would be a collective, which a rank that fails alone leaves
        return torch.ones(size, 2**20)

    room = psutil.Process().memory_info().rss + (rank() + 1) * 100 * 2**20
    found = dt.largest_batch(step, memory_bytes=room)
    assert "forward" not in vars(norm)
    return found


def test_the_largest_batch_is_the_smallest_of_the_ranks() -> None:
    (first, _), (second, _) = on_ranks(largest)
    assert first == second
    assert 15 <= first <= 28
