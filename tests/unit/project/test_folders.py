"""A folder has at most 15 files, wherever people look for one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[3]
MOST_FILES = 15
FOLDERS = (
    "dtrain_lab",
    "src",
    "style",
    "tests",
    "benchmarks",
    "gallery",
    "matrix",
    "notebooks",
    "docs",
    "requirements",
)
SUFFIXES = {".py", ".ts", ".tsx", ".js", ".cjs", ".css", ".sh", ".ipynb", ".md"}
"""Of what people write; pictures and other data don't count."""
MADE = ("__pycache__", ".ipynb_checkpoints", "_shots", "_results")


def counted(path: Path) -> bool:
    """Whether a file takes a place: not where its name is that of another one's tests, or of a package."""
    return path.suffix in SUFFIXES and ".spec." not in path.name and path.name != "__init__.py"


def test_a_folder_has_at_most_15_files() -> None:
    counts: Counter[str] = Counter()
    for top in FOLDERS:
        for path in (ROOT / top).rglob("*"):
            if counted(path) and not set(MADE) & set(path.parts):
                counts[str(path.parent.relative_to(ROOT))] += 1
    assert len(counts) > 100
    assert {folder: count for folder, count in counts.items() if count > MOST_FILES} == {}


def test_tests_of_real_processes_have_a_subject() -> None:
    """A file beside the subjects' folders would be found by nobody, and belong to no part of `make test`."""
    for folder in ("integration", "ui"):
        assert list((ROOT / "tests" / folder).glob("test_*.py")) == []
