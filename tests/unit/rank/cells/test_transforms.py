"""Cells of plain Python spare IPython's search for magics, and become what they would without that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from IPython.core.autocall import ExitAutocall
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.macro import Macro

from dtrain_lab.rank.cells.transforms import quick_transform

PLAIN = [
    "pass",
    "print(1)",
    "print(1)\n",
    "dist.all_reduce(t)",
    "x = 1\nif x:\n    print(x)",
    "x = 1\n\n\n",
    "x = (\n    1\n)",
    "x**2  # squared\n",
    "for i in range(3):\n\tprint(i)",
    "text = '''a\n  b\n'''",
    "@once\ndef f(): pass",
    "größe = 1",
]
OTHER = [
    "",
    "\n",
    "  indented\n  twice",
    "\n\nafter = blank",
    "\u3000\nafter = 1",
    ">>> x = 1\n>>> y",
    "x = 1\n>>> y",
    "In [1]: x = 1\n   ...: y",
    "# a comment\nIn [1]: x",
    "x = 1\n...: y",
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
    "x = 1\r/print 1",
    "x = 1\f/print 1",
    "x = 1\u2028/print 1",
    "2 * x",
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


def watched(made: Any) -> tuple[Callable[[str], str], list[str]]:
    """The quick function of a shell, and a list of what the shell transforms itself."""
    seen: list[str] = []
    usual = made.transform_cell
    made.transform_cell = lambda code: (seen.append(code), usual(code))[1]
    return quick_transform(made), seen


@pytest.fixture(scope="module")
def usual() -> Any:
    return shell()


@pytest.mark.filterwarnings("ignore:`make_tokens_by_line` received")
@pytest.mark.parametrize("code", PLAIN + OTHER)
def test_a_cell_becomes_what_it_would(usual: Any, code: str) -> None:
    quick, seen = watched(shell())
    assert quick(code) == usual.transform_cell(code)
    assert not (code in PLAIN and seen)


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize(
    "register",
    [
        lambda made, theirs: made.input_transformers_post.append(theirs),
        lambda made, theirs: made.input_transformers_cleanup.append(theirs),
        lambda made, theirs: made.input_transformer_manager.line_transforms.append(theirs),
    ],
)
def test_a_transformer_of_somebody_else_sees_every_cell(register: Any, early: bool) -> None:
    made = shell()
    if early:
        register(made, lambda lines: ["theirs\n"])
    quick = quick_transform(made)
    if not early:
        assert quick("pass") == "pass\n"
        register(made, lambda lines: ["theirs\n"])
    assert quick("x = 1\ny = 2") == "theirs\n"


def test_calls_without_parentheses_go_on() -> None:
    made = shell()
    quick = quick_transform(made)
    made.autocall = 1
    made.user_ns["call"] = len
    assert quick("call me") == "call(me)\n"


def test_an_ipython_that_is_made_in_another_way_transforms_every_cell() -> None:
    made = shell()
    del made.input_transformer_manager.token_transformers
    made.transform_cell = lambda code: "theirs"
    assert quick_transform(made)("pass") == "theirs"
