"""Cells as syntax trees, with the lines that their user sees."""

from __future__ import annotations

import ast

from msgspec import Struct

from dtrain_lab.core.finding import Finding
from dtrain_lab.core.kinds import Severity
from dtrain_lab.core.notebook.magics import convert_cell
from dtrain_lab.core.notebook.source import Cell


class Parsed(Struct, frozen=True):
    """A cell and its tree; the tree's lines are the cell's."""

    cell: Cell
    source: str
    tree: ast.Module

    def finding(
        self, severity: Severity, code: str, message: str, fix: str, node: ast.AST, diff: str = ""
    ) -> Finding:
        """Something at a node of this cell."""
        return Finding(severity, code, message, fix, self.cell.name, getattr(node, "lineno", None), diff=diff)


def parse(cell: Cell) -> Parsed | None:
    """A cell's tree; None where it is no Python, which the conversion reports."""
    source = convert_cell(cell).source
    try:
        return Parsed(cell, source, ast.parse(source))
    except (SyntaxError, ValueError):
        return None


def dotted(node: ast.AST) -> str:
    """ "torch.optim.SGD" for an attribute or a name; "" for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value)
        return f"{inner}.{node.attr}" if inner else node.attr
    return ""


def last(node: ast.AST) -> str:
    """The last part of a dotted name."""
    return dotted(node).rpartition(".")[2]
