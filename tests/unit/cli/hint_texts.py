"""Texts of the sources that name commands, with samples in place of values."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

SOURCES = Path(__file__).parents[3] / "dtrain_lab"
NAME, NUMBER, RANKS = "a1b2", "1", "0,2-3"
"""Samples of a name or id, a number, and ranks."""
BEFORE_NUMBER = re.compile(r"(restart|resize|stacks|interrupt|--from|--ranks) $")


class Text(NamedTuple):
    """A string of a module, which is named by its path in the package."""

    module: str
    text: str


@cache
def texts() -> tuple[Text, ...]:
    """Return all strings of the package but docstrings."""
    return tuple(
        Text(str(path.relative_to(SOURCES)), text)
        for path in sorted(SOURCES.rglob("*.py"))
        if "labextension" not in path.parts
        for text in _strings(ast.parse(path.read_text("utf-8")))
    )


def _strings(tree: ast.Module) -> Iterator[str]:
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):  # a docstring
            skipped.add(node.value)
        elif isinstance(node, ast.JoinedStr):
            skipped.update(node.values)
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            text = ""
            for part in node.values:
                if isinstance(part, ast.Constant):
                    text += str(part.value)
                elif isinstance(part, ast.FormattedValue):
                    text += _sample(ast.unparse(part.value), text)
            yield text


def _sample(value: str, before: str) -> str:
    if "compact(" in value or value == "added":
        return RANKS
    return NUMBER if BEFORE_NUMBER.search(before) else NAME
