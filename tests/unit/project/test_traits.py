"""What a back-end can do is a trait: nothing but back-ends compares their names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import dtrain_lab
from dtrain_lab.backends import registry

ROOT = Path(dtrain_lab.__file__).parent
NAMES = frozenset(registry.OURS)


def comparisons(tree: ast.AST) -> Iterator[int]:
    """Lines where a name of a back-end is compared with, or matched, on its own or in a tuple."""
    for node in ast.walk(tree):
        sides: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            sides = [node.value]
        constants = [c for side in sides for c in ast.walk(side) if isinstance(c, ast.Constant)]
        if any(c.value in NAMES for c in constants if isinstance(c.value, str)):
            yield sides[0].lineno


def test_no_name_of_a_back_end_is_compared_elsewhere() -> None:
    assert list(comparisons(ast.parse('a.backend == "ssh"; b in ("x", "slurm")'))) == [1, 1], "it can fail"
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in ROOT.rglob("*.py")
        if "backends" not in path.relative_to(ROOT).parts
        for line in comparisons(ast.parse(path.read_text()))
    ]
    assert found == []


def test_no_name_of_a_back_end_is_compared_in_the_front_end() -> None:
    files = [p for kind in ("*.ts", "*.tsx") for p in (ROOT.parent / "src").rglob(kind)]
    assert files
    found = [
        f"{path.name}: {line.strip()}"
        for path in files
        for line in path.read_text().splitlines()
        if "backend" in line and any(f"=== '{name}'" in line or f"!== '{name}'" in line for name in NAMES)
    ]
    assert found == []


def test_sections_of_profiles_are_read_by_their_back_ends() -> None:
    readers: list[str] = []
    for path in ROOT.rglob("*.py"):
        file = path.relative_to(ROOT)
        for node in ast.walk(ast.parse(path.read_text())) if "backends" not in file.parts else ():
            owner = node.value if isinstance(node, ast.Attribute) and node.attr in ("slurm", "ssh") else None
            if owner is not None and "profile" in ast.unparse(owner):
                readers.append(f"{file}:{node.lineno}")
    assert readers == []
