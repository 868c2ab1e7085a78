"""When a checkpoint is complete: after everything of it is on the disk, and never before."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

import dtrain_lab as dt
from dtrain_lab.jobs.environment_variables import CHECKPOINTS
from dtrain_lab.training import checkpoint, result_use
from dtrain_lab.training.checkpoint import Checkpoint, latest_step


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DTRAIN_CHECKPOINT_DIR", str(tmp_path / "c"))
    return tmp_path / "c"


@pytest.fixture
def marks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Steps, as they were said to be complete."""
    found: list[int] = []
    original = Checkpoint.mark

    def mark(self: Checkpoint, *, if_written: bool = False) -> None:
        found.append(self.step)
        original(self, if_written=if_written)

    monkeypatch.setattr(Checkpoint, "mark", mark)
    return found


def test_a_block_is_complete_at_its_end(folder: Path, marks: list[int]) -> None:
    with dt.checkpoint(3) as place:
        assert (marks, latest_step(folder)) == ([], None), "a kill here must not leave an empty checkpoint"
        (place / "model.pt").write_bytes(b"x")
    assert (marks, latest_step(folder)) == ([3], 3)
    with dt.checkpoint(4):
        pass
    with pytest.raises(ValueError, match="disk"), dt.checkpoint(step=5) as place:
        raise ValueError("disk")
    assert (marks, latest_step(folder)) == ([3, 4], 4)


def test_a_call_alone_is_complete_when_it_returns(folder: Path, marks: list[int]) -> None:
    dt.checkpoint(7)
    assert latest_step(folder) == 7
    (folder / "step-8").mkdir()
    (folder / "step-8" / "model.pt").touch()
    saved = dt.checkpoint(8)
    assert (latest_step(folder), os.fspath(saved)) == (8, str(folder / "step-8"))


def test_the_last_line_of_a_jobs_cell_is_a_call_alone(folder: Path) -> None:
    eval(compile("dt.checkpoint(5)", "train.ipynb[1]", "eval"), {"dt": dt})
    assert latest_step(folder) == 5


def test_one_that_is_entered_later_is_complete_at_the_end_of_its_block(folder: Path) -> None:
    dt.checkpoint(1)
    kept, other = dt.checkpoint(2), dt.checkpoint(3)
    assert latest_step(folder) == 1, "a kill here must not leave an empty checkpoint"
    kept.path.rmdir()  # by whoever keeps the latest few only
    with kept as place:
        assert place == folder / "step-2"
        assert latest_step(folder) == 1
        (place / "model.pt").touch()
    assert latest_step(folder) == 2
    with ExitStack() as stack:
        stack.enter_context(other)
        stack.enter_context(dt.checkpoint(4))
        assert latest_step(folder) == 2
    assert latest_step(folder) == 4


def unknown_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a Python that has renamed them."""
    for known in ("BLOCK", "ALONE"):
        monkeypatch.setattr(result_use, known, ())


def no_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a Python without `sys._getframe`."""
    monkeypatch.delattr(sys, "_getframe")


@pytest.mark.parametrize("without", [unknown_instructions, no_frames])
def test_without_the_callers_bytecode_what_has_files_is_marked(
    without: Callable[[pytest.MonkeyPatch], None], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = {step: folder / f"step-{step}" for step in (1, 2)}
    for place in steps.values():
        place.mkdir(parents=True)
    (steps[1] / "model.pt").touch()
    with monkeypatch.context() as hidden:
        without(hidden)
        dt.checkpoint(1)
        dt.checkpoint(2)
        assert latest_step(folder) == 1, "nothing was saved at step 2"
        with dt.checkpoint(3) as place:
            assert latest_step(folder) == 1
            (place / "model.pt").touch()
        assert latest_step(folder) == 3


def test_a_block_that_is_done_again_is_not_complete_meanwhile(folder: Path) -> None:
    with dt.checkpoint(3):
        pass
    with dt.checkpoint(3):
        assert latest_step(folder) is None


def test_it_is_on_the_disk_before_it_is_said_to_be_complete(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    sync, rename = os.fsync, Path.rename

    def synced(descriptor: int) -> None:
        done.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        sync(descriptor)

    def renamed(self: Path, target: Path) -> Path:
        done.append(f"-> {target}")
        return rename(self, target)

    with dt.checkpoint(2) as place:
        (place / "model.pt").write_bytes(b"x")
        monkeypatch.setattr(os, "fsync", synced)
        monkeypatch.setattr(Path, "rename", renamed)
    marker = str(place / checkpoint.MARKER)
    said = done.index(f"-> {marker}")
    before, after = done[:said], done[said + 1 :]
    assert str(place / "model.pt") in before
    assert str(place) in before
    assert any(path.startswith(str(place / f".{checkpoint.MARKER}")) for path in before)
    assert after == [str(place)]


RANK = """import os
import dtrain_lab as dt
with dt.checkpoint(1) as folder:
    if os.environ['RANK'] == os.environ['DIES']:
        os._exit(9)
"""


@pytest.mark.parametrize("dies", ["1", "nobody"])
def test_ranks_that_have_no_group_wait_for_each_other(tmp_path: Path, dies: str) -> None:
    """In a job whose notebook makes none: rank 0 alone can't say that the others have written theirs."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", RANK],
            env={
                **os.environ,
                **{"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "DIES": dies},
                **{"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"},
                CHECKPOINTS: str(tmp_path),
            },
        )
        for rank in range(2)
    ]
    codes = [rank.wait(60) for rank in ranks]
    assert (tmp_path / "step-1").is_dir()
    assert (checkpoint.latest_step(tmp_path), codes) == ((1, [0, 0]) if dies == "nobody" else (None, [1, 9]))
