"""Requests of Python code are checked before anything is written."""

from __future__ import annotations

from typing import Any

import pytest

import dtrain_lab as dt
from dtrain_lab.api.validation import checked
from dtrain_lab.errors import BadRequest, BadSize
from dtrain_lab.wire.sweeps import SweepRequest


def sweep(**more: Any) -> SweepRequest:
    return SweepRequest(notebook="a.ipynb", space={"lr": [0.1]}, objective="loss", **more)


def test_a_request_as_it_should_be_stays_as_it_is() -> None:
    value = object()
    request = sweep(parameters={"x": value})
    assert checked("dt.sweep", request) is request


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("pruner", "hyperband", "dt.sweep: pruner can't be 'hyperband': choose \"asha\" or None."),
        ("sampler", "x", 'sampler can\'t be \'x\': choose "tpe" or "random" or "grid".'),
        ("direction", "min", 'direction can\'t be \'min\': choose "minimize" or "maximize".'),
        ("parameters", {1: 2}, "parameters has a name that is not a string."),
        ("trials", 2.5, "trials can't be 2.5: it must be a whole number or None."),
        ("trials", "3", "trials can't be '3'"),
    ],
)
def test_another_one_is_refused_by_its_field(field: str, value: object, message: str) -> None:
    with pytest.raises(BadRequest) as refused:
        checked("dt.sweep", sweep(**{field: value}))
    assert message in refused.value.message


@pytest.mark.parametrize(
    ("arguments", "more", "message"),
    [
        (("a.ipynb", ["lr"]), {}, "The search space is a list"),
        ((None, {"lr": [1, 2]}), {}, "dt.sweep: notebook is None."),
        (("a.ipynb", {"lr": [1, 2]}), {"parameters": ["steps"]}, "dt.sweep: parameters is a list."),
        (("a.ipynb", {"lr": [1, 2]}), {"sampler": "x"}, "dt.sweep: sampler can't be 'x'"),
        (
            ("a.ipynb", {"lr": [1, 2]}),
            {"stage": "/d"},
            "dt.sweep: stage can't be '/d': it must be a list.",
        ),
    ],
)
def test_arguments_of_a_sweep_that_are_of_another_kind(
    arguments: tuple[Any, Any], more: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadRequest) as refused:
        dt.sweep(*arguments, "loss", **more)
    assert message in refused.value.message


@pytest.mark.parametrize(
    ("call", "options", "message"),
    [
        ("start", {"ranks": "2"}, "ranks can't be '2': it must be a whole number or None."),
        ("start", {"monitor": "yes"}, "monitor can't be 'yes': it must be True or False or None."),
        ("start", {"profile": None}, "profile can't be None: it must be a text."),
        ("submit", {"notebook": "a.ipynb", "time": 5}, "time can't be 5: it must be a text or None."),
        (
            "submit",
            {"notebook": "a.ipynb", "monitor": 1},
            "monitor can't be 1: it must be True or False or None.",
        ),
        ("submit", {"notebook": "a.ipynb", "options": "-x"}, "options can't be '-x': it must be a list."),
        ("submit", {"notebook": "a.ipynb", "stage": 5}, "stage can't be 5: it must be a list."),
        (
            "submit",
            {"notebook": "a.ipynb", "retries": "1"},
            "retries can't be '1': it must be a whole number.",
        ),
    ],
)
def test_arguments_of_other_kinds_start_nothing(call: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadRequest) as refused:
        getattr(dt, call)(**options)
    assert refused.value.message == f"dt.{call}: {message}"


@pytest.mark.parametrize("ranks", [True, 2.0, "2", None])
def test_a_cluster_is_resized_to_whole_numbers_only(ranks: Any) -> None:
    with pytest.raises(BadSize) as refused:
        dt.Cluster.resize(object.__new__(dt.Cluster), ranks)
    assert refused.value.message == f"{ranks!r} is not a number of ranks."
