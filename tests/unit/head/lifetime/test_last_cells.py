"""How cells ended, left by a head for clients that come after it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from dtrain_lab.head.lifetime import head_record
from dtrain_lab.head.lifetime import last_cells as head_side
from dtrain_lab.services import endings, last_cells, paths
from dtrain_lab.services.connection import head_records
from dtrain_lab.wire.cells import CellRecord, CellResult, Failure
from dtrain_lab.wire.endings import Ending
from dtrain_lab.wire.stacks import Frame

ENDED = CellRecord(
    "r.1",
    "[3]",
    (0, 1),
    "ended",
    0,
    cell_id="c",
    started_at=10.0,
    ended_at=22.0,
    result=CellResult("r.1", (0, 1)),
)


def settings(**more: Any) -> Any:
    return SimpleNamespace(remote=None, record=str(head_records.path_of("abc")), **more)


@pytest.fixture(autouse=True)
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))


def test_clients_read_how_the_cells_of_a_notebook_ended_and_what_the_bar_needs_of_it() -> None:
    long = Failure(1, "raised", "ValueError", "x" * 9, (Frame("f.py", 1, "f", ""),), detail=("y",))
    failed = replace(
        ENDED, id="r.2", result=CellResult("r.2", (0, 1), (long, long), "Rank 1 failed.", traceback=("t",))
    )
    program = replace(ENDED, id="r.3", cell_id=None)
    runs = replace(ENDED, id="r.4", result=None, state="running")
    head_side.leave(settings(), [ENDED, failed, program, runs])
    short = Failure(1, "raised", "ValueError", "")
    assert last_cells.of("abc") == [
        ENDED,
        replace(failed, result=CellResult("r.2", (0, 1), (short,), "Rank 1 failed.")),
    ]


def test_few_are_left_and_for_a_week_and_only_on_this_machine() -> None:
    old = paths.records() / "old.cells"
    old.write_text("[]")
    os.utime(old, (time.time() - 8 * 86400,) * 2)
    head_side.leave(settings(), [replace(ENDED, id=f"r.{i}") for i in range(head_side.MOST + 5)])
    left = last_cells.of("abc")
    assert left is not None
    assert (len(left), left[0].id) == (head_side.MOST, "r.5")
    assert last_cells.of("old") is None

    head_side.leave(SimpleNamespace(remote=object(), record=str(head_records.path_of("far"))), [ENDED])  # type: ignore[arg-type]
    assert last_cells.of("far") is None


def test_a_file_that_cannot_be_written_or_read_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    (paths.records() / "bad.cells").write_text("{")
    assert last_cells.of("bad") is None
    monkeypatch.setattr(head_side.atomic_files, "swap", full)
    head_side.leave(settings(), [ENDED])
    assert [r.getMessage().split(":")[0] for r in caplog.records] == [
        "could not read how the cells of cluster bad have ended",
        "could not note how the cells have ended",
    ]


def test_a_head_notes_that_it_ends_with_the_server(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    head_record.note_end(settings(), Ending("shutdown", at=9.0))
    assert endings.of("abc") == Ending("shutdown", at=9.0)
    monkeypatch.setattr(head_record.atomic_files, "swap", full)
    head_record.note_end(settings(), Ending("shutdown", at=9.0))
    assert [r.getMessage().split(":")[0] for r in caplog.records] == [
        "could not note that this cluster ends with its server"
    ]
