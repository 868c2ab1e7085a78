"""Each row of docs/faults.md is measured by a test: no figure in it is somebody's word."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.faults import ROOT, read


def test_every_row_has_a_test_that_measures_it() -> None:
    known = [
        pattern for path in (ROOT / "tests" / "integration").glob("test_*.py") for pattern in noted(path)
    ]
    rows = read(ROOT / "docs" / "faults.md")
    assert len(rows) > 40
    assert [row[0] for row in rows if not any(re.fullmatch(pattern, row[0]) for pattern in known)] == []
    assert [row[0] for row in rows if re.search(r": \d+\.\d\d s$", row[-1]) is None] == []


def noted(path: Path) -> Iterator[str]:
    """Regular expressions of the faults that a file of tests takes notes of."""
    tree = ast.parse(path.read_text())
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        names = {
            target.id: node.value
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "note":
                fault = node.args[0]
                yield pattern_of(names[fault.id] if isinstance(fault, ast.Name) else fault)


def pattern_of(text: ast.expr) -> str:
    """What a text matches whose parts in braces may be anything."""
    if isinstance(text, ast.JoinedStr):
        return "".join(pattern_of(v) if isinstance(v, ast.Constant) else ".*" for v in text.values)
    assert isinstance(text, ast.Constant)
    return re.escape(str(text.value))
