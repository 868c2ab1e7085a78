"""Folders and files below /tmp, where anybody may have put something first."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from dtrain_lab.errors import Forbidden
from dtrain_lab.machine import atomic_files
from dtrain_lab.machine.folders import private


def test_a_folder_is_made_for_this_user_alone(tmp_path: Path) -> None:
    assert private(tmp_path / "new").stat().st_mode & 0o777 == 0o700
    (tmp_path / "open").mkdir(mode=0o755)
    assert private(tmp_path / "open").stat().st_mode & 0o777 == 0o700


def test_a_link_or_a_file_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir(mode=0o755)
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    (tmp_path / "file").touch()
    for name in ("link", "file"):
        with pytest.raises(Forbidden, match="not a folder of yours"):
            private(tmp_path / name)
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o755, "and what it leads to is left alone"


def test_somebody_elses_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "theirs").mkdir(mode=0o700)
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    with pytest.raises(Forbidden, match="not a folder of yours"):
        private(tmp_path / "theirs")


def test_a_file_is_not_written_through_a_planted_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("kept")
    (tmp_path / "file").symlink_to(victim)
    atomic_files.swap(tmp_path / "file", b"new")
    assert victim.read_text() == "kept"
    assert not (tmp_path / "file").is_symlink()
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600


def test_two_threads_replace_a_file_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = os.fsync

    def fsync(descriptor: int) -> None:
        """The first writer's: another thread replaces the file meanwhile."""
        monkeypatch.setattr(os, "fsync", usual)
        other = threading.Thread(target=atomic_files.swap, args=(tmp_path / "file", b"second"))
        other.start()
        other.join()
        assert (tmp_path / "file").read_bytes() == b"second"
        usual(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    atomic_files.swap(tmp_path / "file", b"the first one's, which is longer", durable=True)
    assert (tmp_path / "file").read_bytes() == b"the first one's, which is longer"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
