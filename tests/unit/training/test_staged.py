"""What is copied to nodes' own disks: names, where a rank finds it, and the copying itself."""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import dtrain_lab as dt
from dtrain_lab.errors import BadRequest
from dtrain_lab.jobs import staging
from dtrain_lab.jobs.environment_variables import STAGED
from dtrain_lab.node import stage


@pytest.fixture
def far() -> Iterator[Path]:
    """A folder on another file system than pytest's."""
    folder = Path("/dev/shm") / f"dtl-{os.getpid()}"
    folder.mkdir(mode=0o700)
    yield folder
    shutil.rmtree(folder)


def test_a_copy_is_called_by_the_last_part_of_its_path() -> None:
    assert staging.names(("/data/cifar10/", "~/tokens.bin")) == {
        "cifar10": "/data/cifar10",
        "tokens.bin": "~/tokens.bin",
    }


@pytest.mark.parametrize(
    "paths", [("data",), ("/",), ("",), ("~",), ("/a/..",), ("/a/.hidden",), ("/a\n/b",), ("/a/x", "/b/x")]
)
def test_what_has_no_name_of_its_own_is_refused(paths: tuple[str, ...]) -> None:
    with pytest.raises(BadRequest) as error:
        staging.names(paths)
    assert error.value.details == {"field": "stage"}


@pytest.mark.parametrize("path", ["/", "//", "/a/.."])
def test_the_root_is_refused_as_what_it_is(path: str) -> None:
    with pytest.raises(BadRequest, match="The whole disk can't be copied"):
        staging.names((path,))


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("/data/set", "/node/set"),
        ("/data/set/train/1.bin", "/node/set/train/1.bin"),
        ("/data/set/../set/x", "/node/set/x"),
        ("/data/settings", "/data/settings"),
        ("/else", "/else"),
    ],
)
def test_a_path_leads_to_its_copy(path: str, there: str) -> None:
    assert staging.find(path, "/node", {"/data/set": "set"}) == there


def test_a_rank_finds_the_copy_and_without_one_the_original(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert dt.staged(tmp_path / "set") == tmp_path / "set"
    monkeypatch.setenv(STAGED, str(tmp_path / "copy"))
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / staging.INDEX).write_text(json.dumps({str(tmp_path / "set"): "set"}))
    assert dt.staged(tmp_path / "set" / "a") == tmp_path / "copy" / "set" / "a"


def made(folder: Path) -> Path:
    (folder / "set" / "below").mkdir(parents=True)
    (folder / "set" / "below" / "a.bin").write_bytes(os.urandom(100_000))
    (folder / "set" / "empty").touch()
    (folder / "set" / "loop").symlink_to(folder / "set")
    (folder / "set" / "linked").symlink_to(folder / "set" / "below" / "a.bin")
    os.mkfifo(folder / "set" / "pipe")
    return folder / "set"


def test_all_plain_files_are_copied_links_followed_once(tmp_path: Path, far: Path) -> None:
    told: list[tuple[int, int]] = []
    source = made(tmp_path)
    stage.copy({"set": source}, far, lambda *said: told.append(said), threading.Event())
    copies = {str(p.relative_to(far / "set")) for p in (far / "set").rglob("*") if p.is_file()}
    assert copies == {"below/a.bin", "empty", "linked"}
    assert (far / "set" / "linked").read_bytes() == (source / "below" / "a.bin").read_bytes()
    assert told[0] == (0, 200_000)
    assert told[-1] == (200_000, 200_000)


def test_what_lies_on_that_disk_already_is_not_copied(tmp_path: Path) -> None:
    source = made(tmp_path)
    place = tmp_path / "place"
    place.mkdir()
    stage.copy({"set": source}, place, lambda *_: None, threading.Event())
    assert (place / "set").is_symlink()
    assert (place / "set" / "below" / "a.bin").exists()


def test_without_room_it_says_how_much_is_needed(
    tmp_path: Path, far: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage, "USABLE_SHARE", 1e-9)
    source, place = made(tmp_path), far / "place"
    place.mkdir()
    with pytest.raises(stage.StagingFailed) as error:
        stage.copy({"set": source}, place, lambda *_: None, threading.Event())
    assert "200.0 kB" in error.value.args[0]
    assert not list(place.iterdir())


def test_a_job_that_ended_meanwhile_stops_the_copying(tmp_path: Path, far: Path) -> None:
    ended = threading.Event()
    ended.set()
    with pytest.raises(stage.Cut):
        stage.copy({"set": made(tmp_path)}, far, lambda *_: None, ended)


def test_a_copy_without_its_keeper_goes_and_one_that_is_kept_stays(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir(mode=0o700)
    kept, place = stage.claim(tmp_path / "base" / "one")
    left, gone = stage.claim(tmp_path / "base" / "two")
    (place / "data").touch()
    (gone / "data").touch()
    os.close(left)
    stage.claim(tmp_path / "base" / "three")
    assert sorted(os.listdir(tmp_path / "base")) == ["one", "three"]
    assert (place / "data").exists()
    os.close(kept)


def test_a_folder_of_somebody_else_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("open", "link"):
        with pytest.raises(stage.StagingFailed, match="not private to you"):
            stage.private(tmp_path / name)
    with pytest.raises(stage.StagingFailed, match=os.strerror(errno.ENOENT)):
        stage.private(tmp_path / "no" / "such")
