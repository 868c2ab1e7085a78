"""Conditions of breakpoints, evaluated here, because pydevd ignores those that raise errors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

MOST_TEXT = 200
NOTE = "The condition of the breakpoint at {} failed, so it did not stop: {}"


class Conditions:
    """Evaluates conditions of breakpoints, and reports the first error of each once per cell.

    Args:
        failed: called with file, line and text of an error, in the thread that reached the breakpoint.
    """

    def __init__(self, failed: Callable[[str, int, str], None]) -> None:
        self._failed = failed
        self._first_errors: dict[tuple[str, int], str] = {}
        """File and line of a breakpoint → the first error of its condition since the cell began."""

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
        for (file, line), text in sorted(self._first_errors.copy().items()):
            return NOTE.format(named(file, line), text)
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
                self._first_errors[place] = text
                self._failed(*place, text)
            return False
