"""Names of clusters that start: unique among running clusters and among starts."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import msgspec
import pytest

from dtrain_lab.errors import BadRequest
from dtrain_lab.machine import atomic_files, processes
from dtrain_lab.services import paths
from dtrain_lab.services.connection import head_records
from dtrain_lab.services.worlds import naming
from dtrain_lab.services.worlds.naming import Reservation, Taken, reserved
from dtrain_lab.wire import VERSION
from dtrain_lab.wire.processes.head_record import HeadRecord


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of records of this test alone."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))


def runs(name: str) -> None:
    """Write the record of a running cluster."""
    here = {"pid": os.getpid(), "started": processes.started(), "system": processes.system()}
    host = os.uname().nodename
    head_records.write(HeadRecord(name, name, str(paths.records() / "none"), 0.0, VERSION, host=host, **here))


def test_two_starts_at_the_same_time_get_two_names() -> None:
    with reserved(None, "local-2") as one, reserved(None, "local-2") as two:
        assert (one, two) == ("local-2", "local-2-2")
    with reserved(None, "local-2") as again:
        assert again == "local-2"
    assert list(paths.records().glob("*.name")) == []


def test_a_default_name_passes_over_running_clusters() -> None:
    runs("local-2")
    with reserved(None, "local-2") as name:
        assert name == "local-2-2"


def test_a_wanted_name_that_is_in_use_is_refused() -> None:
    with reserved("mine", "local-2"), pytest.raises(Taken) as starting, reserved("mine", "local-2"):
        pass
    assert starting.value.record is None
    error = starting.value.error(None, 3, terminal=False)
    assert (error.message, error.code) == ('A cluster "mine" is starting.', "name_in_use")
    runs("mine")
    with pytest.raises(Taken) as running, reserved("mine", "local-2"):
        pass
    assert running.value.record is not None
    error = running.value.error(2, 3, terminal=True)
    assert error.message == 'A cluster "mine" is running. It has 2 ranks; the new one would have 3.'
    assert error.hint == "Choose another name, or stop it: dtrain-lab cluster stop mine"
    same = running.value.error(2, 2, terminal=True)
    assert same.hint == error.hint, "a terminal can't attach to it"
    notebook = running.value.error(2, 2, terminal=False)
    assert notebook.hint == "Choose another name, attach to it (%distributed attach mine), or stop it."


def test_a_name_that_a_killed_process_reserved_is_free() -> None:
    left = paths.records() / "00.name"
    atomic_files.swap(left, msgspec.json.encode(Reservation("mine", os.getpid(), 1.0, processes.system())))
    with reserved("mine", "local-2"):
        assert not left.exists()


@pytest.mark.parametrize("error", [errno.ENOSYS, errno.EAGAIN])
def test_a_start_needs_no_lock(error: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lustre has none without an option, and who has it may be stopped."""

    def refuse(*_: object) -> None:
        raise OSError(error, "no lock")

    monkeypatch.setattr("fcntl.flock", refuse)
    monkeypatch.setattr(naming, "ALONE_WITHIN_S", 0.05)
    with reserved(None, "local-2") as name:
        assert name == "local-2"


def test_a_bad_name_is_refused() -> None:
    with pytest.raises(BadRequest), reserved("../x", "local-2"):
        pass
