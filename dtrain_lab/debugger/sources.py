"""Names of source files and cells that are the same on every node, and lines that can hold a breakpoint."""

from __future__ import annotations

import os
from types import CodeType
from typing import Any

from dtrain_lab.cells.errors import OURS

CELL = "dtrain-cell:"
"""Prefix of a cell's path on the ranks; the rest is the cell's name, which is the same on every node."""

LACKS_FILE = "There is no file"
"""Prefix of a rank's answer if it lacks the file of a breakpoint."""


def cell_name(path: str) -> str:
    """Return the name of a cell from the path that a notebook's debugger gives it."""
    return os.path.basename(path)


def is_cell(path: str) -> bool:
    """Whether a path of the front end is that of a cell, in its kernel's folder of cell sources."""
    return "/ipykernel_" in path


def is_ours(source: dict[str, Any]) -> bool:
    """Whether a frame's source belongs to the code that runs cells, not to the user."""
    path = str(source.get("path", ""))
    return any(part in path for part in ("/ipykernel/", "/IPython/", "/runpy.py", *OURS))


def runs_at(text: str, line: int) -> int | None:
    """Find the line at which a breakpoint stops: its own line, or the next one that is executed.

    A blank line, a comment or the middle of a statement is never executed. The next line is searched in the
    same function, because a line outside would stop when the function's surroundings run, not the function.

    Args:
        text: text of the file.
        line: line of the breakpoint, from 1.

    Returns:
        The line, from 1; unchanged if the text isn't valid Python; None if no later line is executed.
    """
    try:
        module = compile(text, "<breakpoints>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):  # magics: only IPython in the rank can compile it
        return line
    functions = _functions(module)
    if any(line in lines for _, lines in functions):
        return line
    around = [(first, lines) for first, lines in functions if first < line < max(lines)]
    if not around:
        return None
    _, innermost = max(around, key=lambda function: function[0])
    return min(candidate for candidate in innermost if candidate > line)


def _functions(code: CodeType) -> list[tuple[int, set[int]]]:
    """Return the first line and the executed lines of a code object and of all nested ones."""
    first = code.co_firstlineno if code.co_name != "<module>" else 0
    lines = {line for _, _, line in code.co_lines() if line and line != first}
    functions = [(first, lines)] if lines else []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            functions += _functions(constant)
    return functions
