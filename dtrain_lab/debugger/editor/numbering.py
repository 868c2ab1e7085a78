"""Line and column numbers of an editor, from 0 or from 1 as it declares in `initialize`. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from dtrain_lab.debugger.state import Dap

LINES = ("line", "endLine")
COLUMNS = ("column", "endColumn")


class Numbering(Struct, frozen=True):
    """How an editor counts. Ranks count lines and columns from 1.

    Attributes:
        line: number of the first line, 0 or 1.
        column: number of the first column, 0 or 1.
    """

    line: int = 1
    column: int = 1

    def inward(self, command: str, arguments: Dap) -> Dap:
        """Convert the arguments of an editor's request.

        Args:
            command: The request's command.
            arguments: Its arguments, with the editor's line and column numbers.

        Returns:
            The arguments with numbers that start at 1.
        """
        if command == "setBreakpoints" and isinstance(points := arguments.get("breakpoints"), list):
            moved = [self._moved(point, 1) if isinstance(point, dict) else point for point in points]
            return {**arguments, "breakpoints": moved}
        return self._moved(arguments, 1) if command in ("completions", "evaluate") else arguments

    def outward(self, message: Dap) -> Dap:
        """Convert a response or event for the editor."""
        body = message.get("body")
        if not body or (self.line == 1 and self.column == 1):
            return message
        renumbered = dict(body)
        for key in ("stackFrames", "breakpoints"):
            if key in renumbered:
                renumbered[key] = self._all(renumbered[key])
        if "breakpoint" in renumbered:
            renumbered["breakpoint"] = self._moved(renumbered["breakpoint"], -1)
        return {**message, "body": renumbered}

    def _all(self, items: Iterable[Dap]) -> list[Dap]:
        return [self._moved(item, -1) for item in items]

    def _moved(self, item: Dap, sign: int) -> Dap:
        return {key: self._number(key, value, sign) for key, value in item.items()}

    def _number(self, key: str, value: Any, sign: int) -> Any:
        first = self.line if key in LINES else self.column if key in COLUMNS else 1
        if first == 1 or not isinstance(value, int):
            return value
        return max(value + sign, first) if sign < 0 else value + sign
