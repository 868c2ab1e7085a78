"""Copies of logs: the oldest are removed, also while another process removes them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dtrain_lab.machine.logs.kept_logs import MOST_KEPT, SUFFIX, keep_log


def copies(folder: Path, count: int) -> None:
    folder.mkdir(mode=0o700)
    for number in range(count):
        copy = folder / f"{number:02d}{SUFFIX}"
        copy.write_text("old\n")
        os.utime(copy, (number, number))


def test_only_the_latest_copies_are_kept(tmp_path: Path) -> None:
    source, folder = tmp_path / "head.log", tmp_path / "logs"
    source.write_text("it broke\n")
    copies(folder, MOST_KEPT + 3)
    copy = keep_log(source, folder, "new")
    assert copy is not None
    assert copy.read_text() == "it broke\n"
    names = sorted(path.name for path in folder.iterdir())
    assert names == [*(f"{n:02d}{SUFFIX}" for n in range(4, MOST_KEPT + 3)), copy.name]


def test_a_log_is_kept_while_another_process_removes_the_oldest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, folder = tmp_path / "head.log", tmp_path / "logs"
    source.write_text("it broke\n")
    copies(folder, MOST_KEPT + 3)
    listed = Path.glob

    def meanwhile(path: Path, pattern: str) -> Iterator[Path]:
        found = list(listed(path, pattern))
        (folder / f"00{SUFFIX}").unlink()
        return iter(found)

    monkeypatch.setattr(Path, "glob", meanwhile)
    copy = keep_log(source, folder, "new")
    assert copy is not None
    assert copy.exists()
