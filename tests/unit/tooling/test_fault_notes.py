"""Each row of docs/faults.md is measured by a test: no figure in it is somebody's word."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.faults import ROOT, read


def test_every_row_has_a_test_that_measures_it() -> None:
    known = [pattern for path in tests_that_note() for pattern in noted(path)]
    rows = read(ROOT / "docs" / "faults.md")
    assert len(rows) > 40
    assert [row[0] for row in rows if not any(re.fullmatch(pattern, row[0]) for pattern in known)] == []
    assert [row[0] for row in rows if re.search(r": \d+\.\d\d s$", row[-1]) is None] == []


def test_every_time_is_the_difference_of_two_readings() -> None:
    assert [f"{path.name}:{where}" for path in tests_that_note() for where in unmeasured(path)] == []


def test_a_figure_that_nobody_measured_is_found(tmp_path: Path) -> None:
    path = tmp_path / "test_x.py"
    for seconds, wrong in (("1.23", 1), ("LIMIT + 1", 1), ("took", 0), ("time.monotonic() - began", 0)):
        call = f"    note('a', 'b', 'c', 'd', 'e', {seconds})\n"
        path.write_text(f"def test() -> None:\n    took = time.monotonic() - began\n{call}")
        assert len(list(unmeasured(path))) == wrong, seconds


def tests_that_note() -> list[Path]:
    """Files of tests that import `note`."""
    paths = sorted((ROOT / "tests").rglob("test_*.py"))
    found = [path for path in paths if "from tests.faults import note\n" in path.read_text()]
    assert len(found) > 10
    return found


def unmeasured(path: Path) -> Iterator[str]:
    """Lines of notes whose seconds are no difference of times."""
    for function in functions(path):
        values: dict[str, list[ast.expr]] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        values.setdefault(target.id, []).append(node.value)
        for call in calls_of_note(function):
            given = call.args[5]
            last = values.get(given.id, [given]) if isinstance(given, ast.Name) else [given]
            if not any(is_measured(value) for value in last):
                yield f"{call.lineno}: {ast.unparse(given)}"


def is_measured(value: ast.expr) -> bool:
    """Whether it subtracts readings of a clock or times of a job, or is what `end()` of a process took."""
    text = ast.unparse(value)
    subtracts = any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub) for n in ast.walk(value))
    return text == "server.end()" or (subtracts and ("time.monotonic()" in text or "ended_at" in text))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All functions of a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def calls_of_note(function: ast.AST) -> Iterator[ast.Call]:
    """Where a function takes a note."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "note":
            yield node


def noted(path: Path) -> Iterator[str]:
    """Regular expressions of the faults that a file of tests takes notes of."""
    for function in functions(path):
        names = {
            target.id: node.value
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for call in calls_of_note(function):
            fault = call.args[0]
            yield pattern_of(names[fault.id] if isinstance(fault, ast.Name) else fault)


def pattern_of(text: ast.expr) -> str:
    """What a text matches whose parts in braces may be anything."""
    if isinstance(text, ast.JoinedStr):
        return "".join(pattern_of(v) if isinstance(v, ast.Constant) else ".*" for v in text.values)
    assert isinstance(text, ast.Constant)
    return re.escape(str(text.value))
