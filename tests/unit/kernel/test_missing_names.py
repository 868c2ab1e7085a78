"""What a cell says of a name that its ranks lack and the notebook's kernel has."""

from __future__ import annotations

import math
import socket
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dtrain_lab.api.result import Result
from dtrain_lab.errors import CellFailed
from dtrain_lab.kernel.output import missing_names
from dtrain_lab.wire.cells import CellResult, Failure


class OfNotebook:
    """A class as a cell defines one."""


def of_notebook() -> None:
    """A function as a cell defines one."""


PUSH = "a variable of the notebook's kernel: `%distributed push x` copies it to the ranks."
OfNotebook.__module__ = of_notebook.__module__ = "__main__"


def unknown(name: str, rank: int = 0, kind: str = "NameError") -> Failure:
    return Failure(rank, "raised", kind, f"name '{name}' is not defined")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (128, PUSH),
        (np.ones(4 << 20), PUSH),
        (["a"] * (2 << 20), PUSH),
        (math, "a module of the notebook's kernel: import it in a %%distributed cell, too."),
        (Path, "a class of the notebook's kernel: import it in a %%distributed cell, too."),
        (math.sqrt, "a function of the notebook's kernel: import it in a %%distributed cell, too."),
        (OfNotebook, "a class of the notebook's kernel: define it in a %%distributed cell, too."),
        (of_notebook, "a function of the notebook's kernel: define it in a %%distributed cell, too."),
        (
            threading.Lock(),
            "a variable of the notebook's kernel: it can't be copied to the ranks, so create it in a "
            "%%distributed cell.",
        ),
    ],
)
def test_how_ranks_get_a_name_of_the_kernel(value: object, told: str) -> None:
    assert missing_names.hint([unknown("x"), unknown("x", 1)], {"x": value}) == f"x is {told}"


def test_a_value_whose_pickling_fails_in_any_way_can_not_be_copied() -> None:
    class Refuses:
        def __reduce__(self) -> Any:
            raise KeyError("no")

    assert not missing_names.can_be_copied(Refuses())
    with socket.socket() as open_socket:
        assert not missing_names.can_be_copied(open_socket)


@pytest.mark.parametrize(
    "failure",
    [
        unknown("nowhere"),
        unknown("_private"),
        unknown("x", kind="ValueError"),
        Failure(0, "raised", "NameError", "something else about x"),
        Failure(0, "lost", "", "killed"),
    ],
)
def test_other_errors_have_no_hint(failure: Failure) -> None:
    assert missing_names.hint([failure], {"x": 1, "_private": 2}) == ""


def test_the_hint_is_below_the_traceback_and_in_the_errors_text() -> None:
    result = Result(CellResult("c", (0,), (unknown("width"),), "Rank 0 failed."), [])
    with pytest.raises(CellFailed) as error:
        result.raise_failure("Push it.")
    assert str(error.value) == "Rank 0 failed. Push it."
    assert error.value._render_traceback_()[-2:] == ["", "Hint: Push it."]
    with pytest.raises(CellFailed) as plain:
        result.raise_failure()
    assert not any("Hint" in line for line in plain.value._render_traceback_())
