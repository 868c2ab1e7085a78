"""Names of places in code, the same on every node."""

from __future__ import annotations

import os
from types import CodeType
from typing import Any

CELL = "dtrain-cell:"
"""Begins the path of a cell's text; the rest is the name that its text has everywhere."""

MISSING = "There is no file"
"""Begins a rank's answer where it lacks the file of a breakpoint."""


def cell_name(path: str) -> str:
    """Name of a cell by the path that a notebook's debugger gives it."""
    return os.path.basename(path)


def is_ours(source: dict[str, Any]) -> bool:
    """Frames of the machinery that runs cells."""
    path = str(source.get("path", ""))
    return "/ipykernel/" in path or "/IPython/" in path or "/dtrain_lab/rank/" in path or "/runpy.py" in path


def runs_at(text: str, line: int) -> int:
    """The line where a breakpoint on a line stops: that line, or the next one that runs.

    A blank line, a comment or the middle of a statement never runs. The next line is looked for in the same
    function first: the one after it would stop where that is defined, not where it runs.

    Args:
        text: of the file.
        line: from 1.

    Returns:
        The line itself where nothing after it runs, or where the text can't be read as Python.
    """
    try:
        module = compile(text, "<breakpoints>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):  # magics; whoever runs it knows better
        return line
    functions = _functions(module)
    if any(line in lines for _, lines in functions):
        return line
    around = [(first, lines) for first, lines in functions if first < line < max(lines)]
    if not around:
        return line
    _, innermost = max(around, key=lambda function: function[0])
    return min(one for one in innermost if one > line)


def _functions(code: CodeType) -> list[tuple[int, set[int]]]:
    """First line and lines that run, of a piece of code and of all inside it."""
    first = code.co_firstlineno if code.co_name != "<module>" else 0
    lines = {line for _, _, line in code.co_lines() if line and line != first}
    found = [(first, lines)] if lines else []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found += _functions(constant)
    return found
