"""Cells parsed into syntax trees, with line numbers as the user sees them."""

from __future__ import annotations

import ast
from functools import lru_cache

from msgspec import Struct

from dtrain_lab.jobs.notebook.magics import convert_cell
from dtrain_lab.jobs.notebook.source import Cell
from dtrain_lab.wire.jobs.finding import Finding
from dtrain_lab.wire.kinds import Severity


class Parsed(Struct, frozen=True):
    """A cell with its converted source and syntax tree; line numbers are those of the cell.

    `cell` is None for a file of the notebook's folder, whose path is `file`.
    """

    cell: Cell | None
    source: str
    tree: ast.Module
    file: str = ""

    def finding(
        self, severity: Severity, code: str, message: str, fix: str, node: ast.AST, diff: str = ""
    ) -> Finding:
        """Make a finding at the line of a node of this cell; of a file, the message names it.

        Args:
            severity: "problem", "warning" or "note".
            code: Code of the finding, for programs.
            message: What is wrong.
            fix: What to do about it.
            node: Where it is.
            diff: The change that mends it; empty if none is known.
        """
        line = getattr(node, "lineno", None)
        if self.cell is None:
            return Finding(severity, code, f"{self.file}, line {line}: {message}", fix, diff=diff)
        return Finding(severity, code, message, fix, self.cell.name, line, diff=diff)

    @property
    def name(self) -> str:
        """Name of the cell, or the path of the file."""
        return self.cell.name if self.cell is not None else self.file


@lru_cache(maxsize=512)
def parse(cell: Cell) -> Parsed | None:
    """Parse a cell; None if it isn't valid Python, which the conversion reports.

    Cached, because several checks parse the same cells, again at each pause in typing. Callers must not
    change the tree.
    """
    source = convert_cell(cell).source
    try:
        return Parsed(cell, source, ast.parse(source))
    except (SyntaxError, ValueError):
        return None


def dotted(node: ast.AST) -> str:
    """Return the dotted name of an attribute or a name ("torch.optim.SGD"); "" for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value)
        return f"{inner}.{node.attr}" if inner else node.attr
    return ""


def last(node: ast.AST) -> str:
    """Return the last part of a dotted name."""
    return dotted(node).rpartition(".")[2]


def named(node: ast.AST) -> str:
    """Return the dotted name that a node is, or that it imports; "" for anything else."""
    if isinstance(node, ast.alias):
        return node.name
    if isinstance(node, ast.ImportFrom):
        return node.module or ""
    return dotted(node)
