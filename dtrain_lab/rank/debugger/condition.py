"""Conditions of breakpoints, evaluated here, because pydevd ignores those that raise errors."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

MOST_TEXT = 200
NOTE = "The condition of the breakpoint at {} failed, so it did not stop: {}"


class Conditions:
    """Evaluates conditions of breakpoints, and reports each error once per cell.

    Args:
        failed: called with file, line and text of an error, in the thread that reached the breakpoint.
    """

    def __init__(self, failed: Callable[[str, int, str], None]) -> None:
        self._failed = failed
        self._told: set[tuple[str, int, str]] = set()

    def install(self) -> None:
        """Take over from pydevd, which must be installed."""
        import pydevd

        database = pydevd.get_global_debugger()
        if database is not None:
            database.handle_breakpoint_condition = self._is_met

    def forget(self) -> None:
        """Report errors again; called when a cell begins."""
        self._told.clear()

    def note(self, named: Callable[[str, int], str]) -> str:
        """Return a sentence about the first error since the cell began; empty if there was none.

        Args:
            named: names a line of a file for the user.
        """
        for file, line, text in sorted(self._told):
            return NOTE.format(named(file, line), text)
        return ""

    def _is_met(self, _: Any, point: Any, frame: FrameType) -> Any:
        if point.handle_hit_condition(frame):
            return True
        if not point.condition:
            return False
        try:
            return eval(point.condition, frame.f_globals, frame.f_locals)
        except Exception as error:  # noqa: BLE001 - the user's, like the condition
            text = f"{type(error).__name__}: {error}".strip(": ")[:MOST_TEXT]
            wrong = frame.f_code.co_filename, int(point.line), text
            if wrong not in self._told:
                self._told.add(wrong)
                self._failed(*wrong)
            return False
