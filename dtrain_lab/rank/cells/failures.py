"""Describes an exception beside its traceback: message, cause, parts of a group, notes, syntax position."""

from __future__ import annotations

import traceback
from collections.abc import Callable

from dtrain_lab.cells.syntax import pointed
from dtrain_lab.rank.cells.citations import Locate

MOST_LINES = 40
MOST_CHARACTERS = 20_000


def message(error: BaseException, locate: Locate) -> str:
    """The message of an exception; without the position for a syntax error in a cell, which `detail` shows.

    Args:
        error: of a cell.
        locate: maps compiled code to cells.
    """
    if isinstance(error, SyntaxError) and error.filename and locate(error.filename, 0)[0] is not None:
        return str(error.msg)
    return text_of(error)[:MOST_CHARACTERS]


def text_of(error: BaseException) -> str:
    """The text of an exception; where its `__str__` fails, as a user's may, a note of that."""
    try:
        return str(error)
    except Exception as second:  # noqa: BLE001 # the first error must be reported
        return f"(its str() failed: {type(second).__name__})"


def detail(error: BaseException, locate: Locate, user_line: Callable[[str, int], str]) -> tuple[str, ...]:
    """Lines to show below an exception's traceback.

    Args:
        error: exception of a cell.
        locate: maps compiled code to cells.
        user_line: returns a line of a cell's file as the user wrote it.

    Returns:
        At most 40 lines.
    """
    lines: list[str] = []
    if isinstance(error, SyntaxError) and error.lineno:
        file = error.filename or "<string>"
        label, _ = locate(file, error.lineno)
        lines += pointed(error, f"cell {label}" if label else file, user_line(file, error.lineno))
    lines += _notes(error)
    if isinstance(error, BaseExceptionGroup):
        lines += [f"  {_one(part, locate)}" for part in error.exceptions]
    shown = {id(error)}
    before = _before(error)
    while before is not None and id(before[1]) not in shown:
        word, cause = before
        shown.add(id(cause))
        lines += [f"{word} {_one(cause, locate)}", *_notes(cause)]
        before = _before(cause)
    return tuple(lines[:MOST_LINES])


def _before(error: BaseException) -> tuple[str, BaseException] | None:
    if error.__cause__ is not None:
        return "Caused by", error.__cause__
    if error.__context__ is not None and not error.__suppress_context__:
        return "While handling", error.__context__
    return None


def _one(error: BaseException, locate: Locate) -> str:
    """An exception in one line, with the innermost position in a cell."""
    text = f"{type(error).__name__}: {message(error, locate)}".removesuffix(": ").split("\n")[0]
    for summary in reversed(traceback.extract_tb(error.__traceback__)):
        label, line = locate(summary.filename, summary.lineno or 0)
        if label is not None:
            return f"{text} (cell {label}, line {line})"
    return text


def _notes(error: BaseException) -> list[str]:
    notes = getattr(error, "__notes__", None) or []
    return [row for note in notes if isinstance(note, str) for row in note.splitlines()]
