"""ARCHITECTURE.md leads to files that exist: a path that a move left behind would send its reader nowhere."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
NAMES = re.compile(r"`([\w-]+\.(?:py|tsx?))`")
PATHS = re.compile(r"`([a-z][\w-]*/[\w./-]*)(?: [^`]*)?`")


def test_every_path_of_the_map_exists() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    named = {found.rstrip("/") for found in PATHS.findall(text)}
    assert len(named) > 150
    places = (ROOT, ROOT / "dtrain_lab", ROOT / "src", ROOT / "src/job")
    missing = sorted(name for name in named if not any((place / name).exists() for place in places))
    assert missing == []


def test_every_file_that_the_map_names_without_its_folder_exists() -> None:
    there = {path.name for folder in ("dtrain_lab", "src") for path in (ROOT / folder).rglob("*.*")}
    named = set(NAMES.findall((ROOT / "ARCHITECTURE.md").read_text())) - {"utils.py"}  # of a user's own
    assert sorted(named - there) == []
