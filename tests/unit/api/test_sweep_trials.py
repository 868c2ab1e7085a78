"""Trials of a sweep in Python: what a user needs, under documented names."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from dtrain_lab.api.display.trial_display import TRIAL_FIELDS
from dtrain_lab.api.submitted import in_python, own_methods
from dtrain_lab.api.sweep import Sweep
from dtrain_lab.errors import Conflict
from dtrain_lab.sweeps.view import shown
from dtrain_lab.wire.summary import Summary
from dtrain_lab.wire.sweeps import Importance
from tests.unit.sweeps.studies import begun, ended, sweep, through


def test_trials_and_the_best_have_the_documented_fields() -> None:
    record, _ = through(sweep(1), *begun(0, "a"), ended(0, 3.0, 1.5))
    info = shown(record, "/f", 9.0)

    async def seen(_: str) -> Any:
        return info

    made = Sweep(SimpleNamespace(sweeps=SimpleNamespace(adopted=seen), call=run), info)  # type: ignore[arg-type]
    best = made.best()
    assert best is not None
    assert made.trials() == [best]
    assert tuple(best) == TRIAL_FIELDS
    assert (best["number"], best["value"], best["job"], best["ran_s"]) == (0, 1.5, "a", 1.0)
    assert all(f"`{field}`" in (Sweep.trials.__doc__ or "") for field in TRIAL_FIELDS)


def test_an_importance_that_is_unknown_says_why() -> None:
    record, _ = through(sweep(1), *begun(0, "a"), ended(0, 3.0, 1.5))
    reason = "Only one parameter varies, so there is nothing to compare."
    for found, shares, words in (
        (Importance({}, Summary("one_parameter", {}, reason)), {}, f"{{}}  # {reason}"),
        (Importance({"lr": 0.75, "width": 0.25}), {"lr": 0.75, "width": 0.25}, "{'lr': 0.75, 'width': 0.25}"),
    ):
        info = shown(record, "/f", 9.0, found)

        async def seen(_: str, info: Any = info) -> Any:
            return info

        made = Sweep(SimpleNamespace(sweeps=SimpleNamespace(adopted=seen), call=run), info)  # type: ignore[arg-type]
        known = made.importance()
        assert known == shares
        assert json.loads(json.dumps(known)) == shares
        assert known.reason == ("" if shares else reason)
        assert repr(known) == words


def run(work: Any) -> Any:
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        ("Cancel it first: dtrain-lab job cancel 3f2a", "Cancel it first: job.cancel()"),
        ("If so: dtrain-lab job delete 3f2a --force", "If so: job.delete(force=True)"),
        ("Stop it first: dtrain-lab sweep stop 3f2a", "Stop it first: sweep.stop()"),
        ("Cancel it first: dtrain-lab job cancel 3f2a77", "Cancel it first: dtrain-lab job cancel 3f2a77"),
    ],
)
def test_a_hint_names_the_method_of_the_object_at_hand(hint: str, said: str) -> None:
    assert in_python(hint, "3f2a") == said
    for kind, words in (("python", said), ("terminal", hint)):
        with pytest.raises(Conflict) as refused, own_methods(SimpleNamespace(kind=kind), "3f2a"):  # type: ignore[arg-type]
            raise Conflict("It runs.", hint)
        assert refused.value.hint == words
