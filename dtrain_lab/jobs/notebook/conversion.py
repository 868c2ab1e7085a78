"""The conversion of one cell to plain Python, while it is under way."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Sequence

from dtrain_lab.jobs.notebook.source import Cell
from dtrain_lab.wire.jobs.finding import Finding

NOTHING = "None"
"""Expression that replaces code without equivalent in a script."""


class Conversion:
    """State of a cell's conversion to plain Python: findings, and what the script needs for it."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.findings: list[Finding] = []
        self.installs: list[str] = []
        self.helpers: set[str] = set()
        self.futures: list[str] = []

    def note(self, code: str, line: int, message: str) -> None:
        """Add a note about a line.

        Args:
            code: Code of the note, for programs.
            line: The line in the cell, from 1.
            message: The note.
        """
        self.findings.append(Finding("note", code, message, "", self.cell.name, line))

    def warning(self, code: str, line: int, message: str, fix: str = "") -> None:
        """Add a warning about a line.

        Args:
            code: Code of the warning, for programs.
            line: The line in the cell, from 1.
            message: What may be wrong.
            fix: What to do about it.
        """
        self.findings.append(Finding("warning", code, message, fix, self.cell.name, line))

    def problem(self, code: str, line: int, message: str, fix: str) -> str:
        """Add a problem of a line, and return the expression that replaces its code.

        Args:
            code: Code of the problem, for programs.
            line: The line in the cell, from 1.
            message: Why a job can't run it.
            fix: What to do about it.
        """
        self.findings.append(Finding("problem", code, message, fix, self.cell.name, line))
        return NOTHING

    def words(self, text: str, line: int) -> list[str] | None:
        """Split the arguments of a magic.

        Args:
            text: The text after the magic's name.
            line: The line in the cell, from 1, for a problem.

        Returns:
            The words; None, with a problem, if a quote isn't closed.
        """
        try:
            return shlex.split(text)
        except ValueError:
            self.problem("magic", line, f"A quote is not closed: {text}", "Close it.")
            return None

    def argument(self, text: str, line: int) -> str:
        """Return the only argument of a magic, without quotes around it.

        Args:
            text: The text after the magic's name.
            line: The line in the cell, from 1, for a problem.
        """
        if not set("{$") & set(text):
            return " ".join(self.words(text, line) or ())
        quoted = re.fullmatch(r"""(["'])(.*)\1""", text)  # other quotes may belong to an expression
        return quoted[2] if quoted else text

    def expanded(self, text: str) -> str:
        """Return the expression for a text in which IPython expands {expression} and $name."""
        if not set("{}$") & set(text):
            return repr(text)
        self.helpers.add("expanded")
        return f"_expanded({text!r}, globals() | locals())"


def edited(source: str, edits: Sequence[tuple[ast.AST, str]]) -> str:
    """Replace nodes of a syntax tree by text; removed lines are kept as empty lines.

    Args:
        source: Code from which the nodes were parsed.
        edits: Nodes with the text for each, in any order; they don't overlap.
    """
    lines = source.split("\n")
    for node, text in sorted(edits, key=lambda e: (e[0].lineno, e[0].col_offset), reverse=True):  # type: ignore[attr-defined]
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        first, last = lines[node.lineno - 1].encode(), lines[node.end_lineno - 1].encode()
        joined = first[: node.col_offset] + text.encode() + last[node.end_col_offset :]
        gone = node.end_lineno - node.lineno
        lines[node.lineno - 1 : node.end_lineno] = [joined.decode(), *[""] * gone]
    return "\n".join(lines)


def begun(source: str) -> tuple[int, str]:
    """Return the number of empty lines at the beginning of a text, and the rest of the text."""
    at = source.rfind("\n", 0, len(source) - len(source.lstrip())) + 1
    return source.count("\n", 0, at), source[at:]
