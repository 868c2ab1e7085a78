"""Cells of plain Python spare IPython's search for magics, and become what they would without that."""

from __future__ import annotations

from typing import Any

import pytest
from IPython.core.autocall import ExitAutocall
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.macro import Macro

from dtrain_lab.rank.cells.transforms import quick_transforms

PLAIN = [
    "pass",
    "print(1)",
    "dist.all_reduce(t)",
    "x = 1\nif x:\n    print(x)",
    "  indented\n  twice",
    "\n\nafter = blank",
    ">>> x = 1\n>>> y",
    "2 * x",
    "x**2  # squared\n",
    "",
]
MAGIC = [
    "%time x",
    "%%capture\nx",
    "files = !ls",
    "here = %pwd",
    "x = 1\nx?",
    "!ls",
    "if True:\n    !ls",
    ",print a b",
    ";print a b",
    "/print 1",
    "if x:\n    /print 1",
    "a = 7 % 2",
    "?x",
    "pwd",
    "ls -l",
    "ls = 3",
    "who_is_it",
    "leave",
    "leave 3",
    "again",
]


def shell() -> Any:
    made = InteractiveShell()
    made.user_ns.update(leave=ExitAutocall(), again=Macro("x = 1\ny = 2\n"))
    return made


@pytest.fixture(scope="module")
def shells() -> tuple[Any, Any]:
    quick = shell()
    quick_transforms(quick)
    return shell(), quick


@pytest.mark.parametrize("code", PLAIN + MAGIC)
def test_a_cell_becomes_what_it_would(shells: tuple[Any, Any], code: str) -> None:
    usual, quick = shells
    assert quick.transform_cell(code) == usual.transform_cell(code)


def test_a_transformer_of_somebody_else_sees_every_cell() -> None:
    made = shell()
    quick_transforms(made)
    seen: list[str] = []

    class Theirs:
        @classmethod
        def find(cls, tokens_by_line: list[list[object]]) -> None:
            seen.append("looked")

    made.input_transformer_manager.token_transformers.append(Theirs)
    made.transform_cell("pass")
    assert seen == ["looked"]
    made.autocall = 1
    made.user_ns["call"] = len
    assert made.transform_cell("call me") == "call(me)\n"
