"""Conditions of breakpoints, evaluated here, because pydevd ignores those that raise errors."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

from dtrain_lab.debugger.conditions import MESSAGE_LINE

MOST_TEXT = 200
NOTE = "The condition of the breakpoint at {} failed, so it did not stop: {}"
MESSAGE_NOTE = "The message of the breakpoint at {} failed, so it was not printed: {}"
_hits: Counter[str] = Counter()
"""pydevd supports a hit count or a condition, not both, and resets no count."""


def hit(breakpoint: str) -> int:
    """Count one hit of a breakpoint whose condition is true; returns its hits since the cell began."""
    _hits[breakpoint] += 1
    return _hits[breakpoint]


def forget_hits() -> None:
    """Reset all counts; called when a cell begins."""
    _hits.clear()


class Conditions:
    """Evaluates conditions of breakpoints, and reports the first error of each once per cell.

    Args:
        failed: called with file, line and text of an error, in the thread that reached the breakpoint.
    """

    def __init__(self, failed: Callable[[str, int, str], None]) -> None:
        self._failed = failed
        self._first_errors: dict[tuple[str, int], tuple[str, str]] = {}
        """File and line of a breakpoint → the note on its first error since the cell began, and its text."""

    def install(self) -> None:
        """Take over from pydevd, which the adapter has loaded; without it there is nothing to take over."""
        pydevd = sys.modules.get("pydevd")
        database = pydevd.get_global_debugger() if pydevd is not None else None
        if database is not None:
            database.handle_breakpoint_condition = self._is_met

    def forget(self) -> None:
        """Report errors again; called when a cell begins."""
        self._first_errors.clear()

    def note(self, named: Callable[[str, int], str]) -> str:
        """Return a sentence about the first error since the cell began; empty if there was none.

        Args:
            named: names a line of a file for the user.
        """
        for (file, line), (note, text) in sorted(self._first_errors.copy().items()):
            return note.format(named(file, line), text)
        return ""

    def _is_met(self, _: Any, point: Any, frame: FrameType) -> Any:
        if point.handle_hit_condition(frame):
            return True
        if not point.condition:
            return False
        try:
            # a tensor of several elements has no truth value: pydevd would ask for it outside of this `try`
            return bool(eval(point.condition, frame.f_globals, frame.f_locals))
        except Exception as error:  # noqa: BLE001 - the user's, like the condition
            text = f"{type(error).__name__}: {error}".strip(": ")[:MOST_TEXT]
            place = frame.f_code.co_filename, int(getattr(point, "line", 0))
            if place not in self._first_errors:  # once per line: the text may differ in each iteration
                self._first_errors[place] = (MESSAGE_NOTE if _in_message(error) else NOTE, text)
                self._failed(*place, text)
            return False


def _in_message(error: Exception) -> bool:
    """Whether the message of a breakpoint has failed: it stands in the second line of what is evaluated."""
    evaluated = error.__traceback__.tb_next if error.__traceback__ is not None else None
    return evaluated is not None and evaluated.tb_lineno == MESSAGE_LINE
