"""`make test` runs every test, and none twice: each is in one of the parts that run at a time."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
MARKS = ("hosts", "browser")
ELSEWHERE = ROOT / "tests" / "beside"
"""Run by `python -m matrix beside`, in an environment with the extensions of others."""


@dataclass(frozen=True)
class Part:
    """What one part gives to pytest: an expression of marks, and folders or files."""

    marked: str
    paths: tuple[Path, ...]
    ignored: tuple[Path, ...]

    def runs(self, file: Path, marks: set[str]) -> bool:
        """Whether it selects a test of this file with these marks."""
        inside = any(file.is_relative_to(path) for path in self.paths)
        outside = any(file.is_relative_to(path) for path in self.ignored)
        return inside and not outside and eval(self.marked, {}, {mark: mark in marks for mark in MARKS})


def parts() -> dict[str, Part]:
    """Return the parts of `make test` that run pytest, by name, as make would start them."""
    found = re.search(r"^PARTS := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert found
    variables = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    made = subprocess.run(
        ["make", "-n", "-C", str(ROOT), *found[1].split()],
        capture_output=True, text=True, check=True, timeout=60, env=variables,
    )  # fmt: skip
    started: dict[str, Part] = {}
    for line in made.stdout.splitlines():
        if "tests/tries.sh" not in line:
            continue
        words = shlex.split(line.partition(" >")[0])
        marked = words.index("-m")
        given = [ROOT / word for word in words[marked + 2 :] if not word.startswith("-")]
        ignored = [ROOT / word.partition("=")[2] for word in words if word.startswith("--ignore=")]
        name = words[2].rpartition("tried-")[2]
        started[name] = Part(words[marked + 1], tuple(given or [ROOT / "tests"]), tuple(ignored))
    return started


def marks(nodes: list[ast.expr]) -> set[str]:
    """Return those of the marks that expressions name."""
    named = {node.attr for each in nodes for node in ast.walk(each) if isinstance(node, ast.Attribute)}
    return named & set(MARKS)


def kinds(file: Path) -> Iterator[set[str]]:
    """Yield the marks of each test of a file."""
    body = ast.parse(file.read_text()).body
    shared = [
        node.value
        for node in body
        if isinstance(node, ast.Assign) and any(ast.unparse(name) == "pytestmark" for name in node.targets)
    ]
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test"):
            yield marks([*shared, *node.decorator_list])


def test_every_test_is_run_by_one_part() -> None:
    started = parts()
    assert len(started) > 5
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        if file.is_relative_to(ELSEWHERE):
            continue
        for kind in kinds(file):
            running = [name for name, part in started.items() if part.runs(file, kind)]
            assert len(running) == 1, f"{file.relative_to(ROOT)}, tests marked {kind}: run by {running}"


def test_the_parts_name_what_exists() -> None:
    for name, part in parts().items():
        missing = [str(path) for path in (*part.paths, *part.ignored) if not path.exists()]
        assert missing == [], name
