"""`dt.log` records numbers of a step, and refuses what is not one in a sentence."""

from __future__ import annotations

import pytest
import torch

from dtrain_lab.errors import BadRequest
from dtrain_lab.training import log as logging

Record = tuple[int, dict[str, float]]


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[Record]:
    """What is recorded, as on rank 0."""
    found: list[Record] = []
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setattr(logging, "_sink", [])
    logging.to(lambda step, values, _: found.append((step, values)))
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
