"""The conversion of one cell to plain Python, while it is under way."""

from __future__ import annotations

from dtrain_lab.jobs.notebook.source import Cell
from dtrain_lab.wire.jobs.finding import Finding

NOTHING = "None"
"""Expression in the place of what has no equivalent in a script."""


class Conversion:
    """A cell on its way to plain Python: findings, installations, and helper functions that it needs."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.findings: list[Finding] = []
        self.installs: list[str] = []
        self.helpers: set[str] = set()

    def note(self, code: str, line: int, message: str) -> None:
        """Add a note about a line."""
        self.findings.append(Finding("note", code, message, "", self.cell.name, line))

    def problem(self, code: str, line: int, message: str, fix: str) -> str:
        """Add a problem of a line, and return what stands in the place of its code."""
        self.findings.append(Finding("problem", code, message, fix, self.cell.name, line))
        return NOTHING
