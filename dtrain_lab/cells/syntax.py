"""Checks the code of a cell before it is sent to ranks. Pure."""

from __future__ import annotations

import ast
import traceback
import warnings
from functools import cache
from typing import TYPE_CHECKING

from dtrain_lab.errors import BadCell

if TYPE_CHECKING:
    from IPython.core.inputtransformer2 import TransformerManager

PYTHON_BODY = ("time", "timeit", "capture", "prun")
"""Cell magics whose body is Python."""


def check_source(code: str, cell: str = "", first_line: int = 1) -> None:
    """Check a cell's source before it is sent, so that a syntax error reaches no rank.

    Args:
        code: source of the cell, without the magic's line.
        cell: the cell's label.
        first_line: line number of the code's first line, as the user counts.

    Raises:
        BadCell: the cell is empty or has a syntax error; `details` carries the user's line and the offset.
    """
    if not code.strip():
        raise BadCell("The cell is empty.", "Write the code below the %%distributed line.")
    body = _python_body(code)
    above = first_line - 1 + blank_lines(code)
    if body is not None:
        above += 1 + blank_lines(body)
    try:
        _compile(code if body is None else body, above)
    except SyntaxError as error:
        lines = code.split("\n")
        number = (error.lineno or 1) - first_line
        text = lines[number] if 0 <= number < len(lines) else ""
        raise BadCell(
            _sentence(f"{type(error).__name__}: {error.msg}"),
            "The cell was not sent to any rank.",
            code="syntax_error",
            details={
                "line": error.lineno,
                "offset": error.offset,
                "text": text,
                "place": pointed(error, f"cell {cell}" if cell else "cell", text),
            },
        ) from error
    except ValueError as error:  # a null byte
        raise BadCell(f"The cell can't be compiled: {error}.", "It was not sent to any rank.") from error


def _sentence(text: str) -> str:
    """The text as a sentence: with a full stop, unless it ends with a mark of its own."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _compile(code: str, above: int) -> None:
    """Compile a cell as if `above` lines preceded it, so that errors carry the user's line number."""
    if _is_python(code):  # IPython's transformation takes four times as long as Python's compiler
        return
    try:
        plain = _transformer().transform_cell(code)
    except SyntaxError as error:
        error.lineno = (error.lineno or 1) + above
        raise
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the ranks show the warning when they compile the cell
        compile("\n" * above + plain, "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def _is_python(code: str) -> bool:
    """Return whether a cell is valid without IPython's syntax, which is never valid Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the ranks show the warning when they compile the cell
        try:
            compile(code, "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except (SyntaxError, ValueError):
            return False
    return True


def blank_lines(code: str) -> int:
    """Count the leading blank lines, which IPython strips before it compiles."""
    lines = code.split("\n")
    return next((i for i, line in enumerate(lines) if line.strip()), len(lines))


def _python_body(code: str) -> str | None:
    """Return the body of a cell magic that runs Python; None for any other cell."""
    first, _, body = code[len(code) - len(code.lstrip()) :].partition("\n")
    name = first.removeprefix("%%").split(" ")[0]
    return body if first.startswith("%%") and name in PYTHON_BODY and body.strip() else None


def pointed(error: SyntaxError, place: str, text: str = "") -> list[str]:
    """Show the place of a syntax error: its line, with markers below the faulty part.

    Args:
        error: as Python raises it.
        place: name of the code, shown in place of a file name.
        text: the line as the user wrote it.

    Returns:
        Lines of text.
    """
    written = text.strip()
    if written and error.text is None:  # Python's compiler leaves out the source line
        error = type(error)(
            error.msg, (None, error.lineno, error.offset, text, error.end_lineno, error.end_offset)
        )
    elif written and error.text is not None and written != error.text.strip():  # generated from a magic
        error = type(error)(error.msg, (None, error.lineno, None, text, None, None))
    _, *shown = traceback.format_exception_only(error)[:-1] or [""]
    return [f"  {place}, line {error.lineno}", *(row.rstrip() for part in shown for row in part.splitlines())]


@cache
def _transformer() -> TransformerManager:
    # loaded with the first cell: it is a third of the time that a command takes to start
    from IPython.core.inputtransformer2 import TransformerManager

    return TransformerManager()


def label(count: int) -> str:
    """Name of a cell by its execution count: 7 is "[7]"."""
    return f"[{count}]"
