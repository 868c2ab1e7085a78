"""Requests of Python code are checked before anything is written."""

from __future__ import annotations

from typing import Any

import pytest

from dtrain_lab.api.checked import checked
from dtrain_lab.errors import BadRequest
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
        ("pruner", "hyperband", "dt.sweep: pruner can't be 'hyperband': invalid enum value 'hyperband'."),
        ("direction", "min", "direction can't be 'min'"),
        ("trials", 2.5, "trials can't be 2.5: expected `int | null`, got `float`."),
        ("trials", "3", "trials can't be '3'"),
    ],
)
def test_another_one_is_refused_by_its_field(field: str, value: object, message: str) -> None:
    with pytest.raises(BadRequest) as refused:
        checked("dt.sweep", sweep(**{field: value}))
    assert message in refused.value.message
