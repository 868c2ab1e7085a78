"""The importance of a sweep's parameters, and why it can't be told."""

from __future__ import annotations

import functools
import math
import random
import sys
import warnings
from typing import Any

import optuna
import pytest
from msgspec.structs import replace

from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.services.sweeps.sweeps import Sweeps
from dtrain_lab.sweeps import study
from dtrain_lab.sweeps.importance import importance
from dtrain_lab.sweeps.importance import sentence as told_in_a_line
from dtrain_lab.wire.sweeps import SweepRecord, TrialRecord
from tests.unit.sweeps.studies import sweep


def searched(values: Any, **asked: Any) -> SweepRecord:
    """A sweep of 40 trials that are done: `values(lr, width)` is what each reached."""
    chance = random.Random(5)
    space = {"lr": "loguniform(1e-5, 1e-1)", "width": [32, 64, None], "seed": [1]}
    trials = []
    for number in range(40):
        found = {"lr": 10 ** chance.uniform(-5, -1), "width": chance.choice([32, 64, None]), "seed": 1}
        trials.append(TrialRecord(number, "succeeded", found, values(found["lr"], found["width"])))
    return replace(sweep(40, **{"space": space, **asked}), trials=tuple(trials))


def far(lr: float, width: int | None) -> float:
    return abs(math.log10(lr) + 3) + (0.01 if width else 0.0)


@pytest.mark.parametrize(("sign", "direction"), [(1, "minimize"), (-1, "maximize")])
def test_the_parameter_that_decides_is_the_important_one(sign: int, direction: str) -> None:
    record = searched(lambda lr, width: sign * far(lr, width), direction=direction)
    found = importance(record)
    assert list(found.shares) == ["lr", "width"], "what does not vary is left out"
    assert sum(found.shares.values()) == pytest.approx(1)
    assert found.shares["lr"] > 0.8
    assert found == importance(record)
    running = replace(record.trials[0], number=40, state="running")
    assert importance(replace(record, trials=(*record.trials, running))) == found, "it has no value yet"
    assert told_in_a_line(found).startswith("lr ")


def test_importance_that_can_not_be_told_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    record = searched(far)
    few = replace(record, trials=record.trials[:9])
    assert told_in_a_line(importance(few)) == "Importance needs 10 trials that are done; 9 are done."
    first = importance(replace(record, trials=record.trials[:1]))
    assert told_in_a_line(first) == "Importance needs 10 trials that are done; 1 is done."
    over = replace(record, trials=record.trials[:1], state="succeeded", ended_at=9.0)
    assert told_in_a_line(importance(over)) == (
        "Importance needs 10 trials that are done; the sweep has ended with 1."
    )
    alike = searched(lambda *_: 1.0)
    assert told_in_a_line(importance(alike)) == "All trials have the same objective, so no parameter matters."
    one = replace(record, request=replace(record.request, space={"lr": [1, 2], "seed": [1]}))
    assert told_in_a_line(importance(one)) == "Only one parameter varies, so there is nothing to compare."
    none = replace(record, request=replace(record.request, space={"lr": [1], "seed": [1]}))
    assert told_in_a_line(importance(none)) == "No parameter varies."
    monkeypatch.setitem(sys.modules, "optuna", None)
    missing = importance(record).missing
    assert missing is not None
    assert missing.code == "no_optuna"


def test_any_error_of_optunas_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = optuna.importance.PedAnovaImportanceEvaluator
    monkeypatch.delattr(kind, "evaluate")
    missing = importance(searched(far)).missing
    assert missing is not None
    assert missing.code == "optuna_failed"
    assert missing.text.startswith("Optuna could not compute the importance: NotImplementedError")


def test_importance_changes_no_filter_of_warnings_which_all_threads_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Optuna 4 calls its evaluator experimental; warnings are errors in these tests."""
    kind = optuna.importance.PedAnovaImportanceEvaluator
    made = kind.__init__

    @functools.wraps(made)
    def warns(self: Any, **given: Any) -> None:
        warnings.warn("It is experimental.", optuna.exceptions.ExperimentalWarning, stacklevel=2)
        made(self, **given)

    monkeypatch.setattr(kind, "__init__", warns)
    monkeypatch.setattr(study, "warnings", None)
    found = importance(searched(far))
    assert (found.missing, list(found.shares)) == (None, ["lr", "width"])


@pytest.mark.asyncio
async def test_without_optuna_it_is_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    sweeps, record = Sweeps(Jobs()), searched(far)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "optuna", None)
        missing = (await sweeps._importance(record)).missing
        assert missing is not None
        assert missing.code == "no_optuna"
    found = await sweeps._importance(record)
    assert list(found.shares) == ["lr", "width"]
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert await sweeps._importance(record) == found, "the same trials tell the same"
