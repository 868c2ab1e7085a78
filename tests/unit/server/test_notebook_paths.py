"""Paths of notebooks below a server's root, whatever folder their jobs were submitted from."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dtrain_lab.server import notebook_paths
from dtrain_lab.server.notebook_paths import path_below, stacks_with_path
from dtrain_lab.wire.stacks import Stack, StackFrame, Where


def test_a_notebook_is_found_from_any_folder_and_never_another_of_its_name(tmp_path: Path) -> None:
    root, other = tmp_path / "work", tmp_path / "other"
    (root / "jobs").mkdir(parents=True)
    other.mkdir()
    (tmp_path / "link").symlink_to(root)
    (other / "into").symlink_to(root / "jobs")
    for base in (root, tmp_path / "link"):
        # submitted in a terminal: `cd work/jobs; dtrain-lab submit bad.ipynb`
        assert path_below(str(base), f"{root}/jobs/bad.ipynb", "bad.ipynb") == "jobs/bad.ipynb"
        assert path_below(str(base), f"{tmp_path}/link/bad.ipynb", "bad.ipynb") == "bad.ipynb"
        assert path_below(str(base), f"{other}/into/bad.ipynb", "into/bad.ipynb") == "jobs/bad.ipynb"
        assert path_below(str(base), f"{other}/bad.ipynb", "bad.ipynb") is None
        assert path_below(str(base), f"{root}/../other/bad.ipynb", "../other/bad.ipynb") is None
        # records of earlier versions
        assert path_below(str(base), "", "jobs/bad.ipynb") == "jobs/bad.ipynb"
        assert path_below(str(base), "", f"{other}/bad.ipynb") is None
    assert path_below("/", "/data/a.ipynb", "a.ipynb") == "data/a.ipynb"


def test_a_link_that_moves_is_followed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, link = tmp_path / "work", tmp_path / "link"
    for name in ("old", "new"):
        (root / name).mkdir(parents=True)
    now = 0.0
    monkeypatch.setattr("dtrain_lab.server.notebook_paths.time.monotonic", lambda: now)
    link.symlink_to(root / "old")
    assert path_below(str(root), f"{link}/a.ipynb", "a.ipynb") == "old/a.ipynb"
    link.unlink()
    link.symlink_to(root / "new")
    now += notebook_paths.FOLLOWED_FOR_S
    assert path_below(str(root), f"{link}/a.ipynb", "a.ipynb") == "new/a.ipynb"


@pytest.mark.parametrize(
    ("known", "path"),
    [
        ({"notebook_path": "my/hang.ipynb", "source": "/root/my/hang.ipynb"}, "my/hang.ipynb"),
        ({"notebook_path": None, "source": "/other/hang.ipynb"}, "/other/hang.ipynb"),
        ({"notebook_path": None, "source": ""}, "hang.ipynb"),
    ],
)
def test_stacks_lead_to_the_notebook_of_their_job(known: dict[str, Any], path: str) -> None:
    # submitted in a terminal: `cd my; dtrain-lab submit hang.ipynb`
    cell, file = Where("hang.ipynb", "[4]", line=8), Where(file="model.py", line=3)
    stack = Stack(0, "", frames=(StackFrame(cell), StackFrame(file)))
    job: Any = SimpleNamespace(notebook="hang.ipynb", **known)
    [found] = stacks_with_path([stack], job)
    assert [frame.where.notebook for frame in found.frames] == [path, None]
    assert found.frames[0].where.cell == "[4]"
    assert found.frames[1] == stack.frames[1]
