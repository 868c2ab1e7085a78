"""The index of jobs: nothing that was written is undone, and nothing that breaks takes the rest along."""

from __future__ import annotations

import asyncio
import getpass
import os
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import psutil
import pytest
from msgspec.structs import replace

from dtrain_lab.errors import Conflict, NotFound, Unreachable, WireMismatch
from dtrain_lab.jobs.prune import prunable
from dtrain_lab.jobs.state import job
from dtrain_lab.machine import filesystems
from dtrain_lab.services.index.async_index import AsyncJobIndex
from dtrain_lab.services.index.rebuild import bound
from dtrain_lab.services.index.store import Filed, JobIndex
from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.wire.jobs.folder import End, FolderState
from dtrain_lab.wire.jobs.job import EndCommand, Job, JobRecord
from dtrain_lab.wire.status import Status
from tests.unit.jobs.records import RECORD

FAILED = job(RECORD, FolderState(190.0, End(143, 200.0)), Status("ended"), 201.0)


def test_a_look_that_began_before_a_cancel_counts_for_nothing(tmp_path: Path) -> None:
    store = JobIndex(tmp_path / "jobs.sqlite")
    store.put(RECORD)
    cancelled = replace(RECORD, cancelled_at=195.0)
    store.put(cancelled)
    store.save_state(RECORD, FAILED)
    assert store.active() == [cancelled]
    assert store.last_states() == []
    store.save_state(cancelled, replace(FAILED, state="cancelled"))
    assert store.active() == []
    assert [seen.state for seen in store.last_states()] == ["cancelled"]


def test_a_job_is_looked_at_until_the_command_for_its_end_has_ended(tmp_path: Path) -> None:
    store = JobIndex(tmp_path / "jobs.sqlite")
    store.put(RECORD)
    store.save_state(RECORD, replace(FAILED, end_command=EndCommand("mail")))
    assert store.active() == [RECORD]
    store.save_state(RECORD, replace(FAILED, end_command=EndCommand("mail", 3)))
    assert store.active() == []


def test_of_two_that_clash_one_gets_in(tmp_path: Path) -> None:
    store, elsewhere = JobIndex(tmp_path / "jobs.sqlite"), JobIndex(tmp_path / "jobs.sqlite")
    twin = replace(RECORD, id="5678efab")
    assert store.add(RECORD, lambda other: other.name == RECORD.name) is None
    assert elsewhere.add(twin, lambda other: other.name == twin.name) == RECORD
    assert elsewhere.find(twin.id) is None
    store.save_state(RECORD, FAILED)
    assert elsewhere.add(twin, lambda other: other.name == twin.name) is None
    assert store.active() == [twin]


def test_a_look_brings_no_deleted_job_back(tmp_path: Path) -> None:
    store = JobIndex(tmp_path / "jobs.sqlite")
    store.put(RECORD)
    store.remove(RECORD.id)
    store.save_state(RECORD, FAILED)
    assert store.find(RECORD.id) is None


def test_what_two_change_at_once_is_both_kept(tmp_path: Path) -> None:
    """A cancel during a submission: whoever hands over writes the handle later, and nothing else."""
    store, elsewhere = JobIndex(tmp_path / "jobs.sqlite"), JobIndex(tmp_path / "jobs.sqlite")
    assert store.add(replace(RECORD, handle=None)) is None
    elsewhere.change(RECORD.id, cancelled_at=195.0)
    assert store.change(RECORD.id, handle=RECORD.handle) == replace(RECORD, cancelled_at=195.0)
    with pytest.raises(NotFound, match="deleted in the meantime"):
        store.change("none", cancelled_at=1.0)


def test_it_is_opened_by_the_first_question_in_a_folder_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "dtrain-lab"
    store = JobIndex(folder / "jobs.sqlite")
    assert not folder.exists()
    assert store.active() == []
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "jobs.sqlite").stat().st_mode) == 0o600


@pytest.mark.parametrize("damage", ["header", "pages", "truncated"])
def test_a_damaged_file_is_set_aside_and_made_again(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "jobs.sqlite"
    first = JobIndex(path)
    for number in range(300):
        first.put(replace(RECORD, id=f"{number:08x}", name="x" * 200))
    with closing(sqlite3.connect(path)) as base:
        base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = path.read_bytes()
    broken = {"header": b"x" * 4096 + data[4096:], "truncated": data[: len(data) // 2 + 100]}
    path.write_bytes(broken.get(damage) or data[:8192] + b"\xff" * (len(data) - 8192))
    store = JobIndex(path, lambda: [(RECORD, msgspec.json.encode(RECORD))])
    assert store.active() == [RECORD]
    assert [p for p in tmp_path.glob("jobs.sqlite.damaged-*") if p.suffix not in (".lock",)]
    store.save_state(RECORD, FAILED)
    assert JobIndex(path).last_states() == [FAILED]


@pytest.mark.parametrize("left", ["nothing", "an empty file", "a part of its tables"])
def test_an_index_that_is_gone_is_made_again(tmp_path: Path, left: str) -> None:
    path = tmp_path / "jobs.sqlite"
    if left == "an empty file":  # as a full disk leaves it
        path.touch()
    elif left == "a part of its tables":
        with closing(sqlite3.connect(path)) as base:
            base.execute("CREATE TABLE other (x)")
    filled: list[int] = []

    def refill() -> list[Filed]:
        filled.append(1)
        return [(RECORD, msgspec.json.encode(RECORD))]

    assert JobIndex(path, refill).active() == [RECORD]
    again = JobIndex(path, refill)
    again.remove(RECORD.id)
    assert JobIndex(path, refill).active() == []
    assert filled == [1], "what was deleted does not come back"
    # under the feet of a process that goes on: a file system gives the number of its inode away again
    for part in tmp_path.glob("jobs.sqlite*"):
        part.unlink()
    path.touch()
    again._file._prepared = path.stat().st_dev, path.stat().st_ino
    assert again.active() == [RECORD]


def test_a_row_that_cant_be_read_hides_no_other_and_is_kept(tmp_path: Path) -> None:
    store = JobIndex(tmp_path / "jobs.sqlite")
    store.put(RECORD)
    store.save_state(RECORD, FAILED)
    other = replace(RECORD, id="5678efab", name="other", created_at=300.0)
    for identity, data in (("newer000", b'{"id": "newer000", "checkpoints": "/c"}'), ("noise000", b"\xff")):
        store.put(replace(other, id=identity), data)
    store.put(other)
    assert [record.id for record in store.active()] == [other.id]
    assert [job.id for job in store.last_states()] == [RECORD.id]
    assert store.add(replace(RECORD, id="third")) is None
    with pytest.raises(WireMismatch, match="newer000 was written by another version"):
        store.find("newer000")
    assert store.ids() == {RECORD.id, other.id, "newer000", "noise000", "third"}
    assert store.data("noise000") == b"\xff"
    with pytest.raises(Conflict, match=r"other \(newer000\), written by another version"):
        store.add(replace(RECORD, id="fourth", checkpoints="/c"))
    assert store.take_out(RECORD.id, "/c") == (None, [("newer000", "other")]), "it may go on there"


def test_fields_of_another_version_stay(tmp_path: Path) -> None:
    store = JobIndex(tmp_path / "jobs.sqlite")
    written = msgspec.json.decode(msgspec.json.encode(RECORD)) | {"color": "red"}
    written["request"] |= {"urgent": {"since": 3}}
    written["profile"]["slurm"] |= {"reservation": "mine"}
    store.put(RECORD, msgspec.json.encode(written))
    assert store.find(RECORD.id) == (RECORD, None)
    store.change(RECORD.id, cancelled_at=195.0)
    kept = msgspec.json.decode(store.data(RECORD.id) or b"")
    assert kept == written | {"cancelled_at": 195.0}


def test_what_is_as_it_was_is_not_written(tmp_path: Path) -> None:
    store = JobIndex(tmp_path / "jobs.sqlite")
    store.put(RECORD)
    store.save_state(RECORD, FAILED)
    with closing(sqlite3.connect(tmp_path / "jobs.sqlite")) as base:
        before = base.execute("PRAGMA data_version").fetchone()
        store.save_state(RECORD, FAILED)
        assert base.execute("PRAGMA data_version").fetchone() == before
        store.save_state(RECORD, replace(FAILED, exit_code=9))
        assert base.execute("PRAGMA data_version").fetchone() != before


@pytest.mark.parametrize(("local", "mode"), [(True, "wal"), (False, "delete")])
def test_no_write_ahead_log_on_a_network_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local: bool, mode: str
) -> None:
    monkeypatch.setattr("dtrain_lab.services.index.file.filesystems.is_local", lambda _: local)
    JobIndex(tmp_path / "jobs.sqlite").put(RECORD)
    with closing(sqlite3.connect(tmp_path / "jobs.sqlite")) as base:
        assert base.execute("PRAGMA journal_mode").fetchone() == (mode,)


def test_what_kind_of_file_system_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def mount(point: str, kind: str) -> Any:
        return SimpleNamespace(mountpoint=point, fstype=kind)

    mounts = [mount("/", "ext4"), mount("/home", "nfs4"), mount("/homes", "xfs"), mount("/home/a", "tmpfs")]
    monkeypatch.setattr(psutil, "disk_partitions", lambda all: mounts)
    found = {path: filesystems.is_local(Path(path)) for path in ("/x", "/home/b", "/homes/b", "/home/a/c")}
    assert found == {"/x": True, "/home/b": False, "/homes/b": True, "/home/a/c": True}
    mounts.append(mount("/home/a", "fuse.sshfs"))
    assert not filesystems.is_local(Path("/home/a/c"))


def test_a_file_that_cant_be_used_is_told_and_the_loop_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dtrain_lab.services.index.file.WAIT_S", 0.5)
    store = JobIndex(tmp_path / "jobs.sqlite")
    store.put(RECORD)

    async def main() -> float:
        jobs, slowest = Jobs(store), 0.0
        with closing(sqlite3.connect(tmp_path / "jobs.sqlite", isolation_level=None)) as base:
            base.execute("BEGIN EXCLUSIVE")
            waiting = asyncio.create_task(jobs._index.change(RECORD.id, cancelled_at=1.0))
            while not waiting.done():
                began = time.monotonic()
                await asyncio.sleep(0.01)
                slowest = max(slowest, time.monotonic() - began)
            with pytest.raises(Unreachable, match="database is locked"):
                await waiting
        return slowest

    assert asyncio.run(main()) < 0.3

    (tmp_path / "file").write_text("")
    nowhere = JobIndex(tmp_path / "file" / "jobs.sqlite")
    with pytest.raises(Unreachable, match="The index of jobs"):
        nowhere.put(RECORD)


def test_who_waits_for_a_locked_file_waits_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten who ask at once are not told after ten times as long; and whoever gives up holds up no end."""
    monkeypatch.setattr("dtrain_lab.services.index.file.WAIT_S", 0.5)
    monkeypatch.setattr("dtrain_lab.services.index.async_index.PATIENT_S", 0.3)
    store = JobIndex(tmp_path / "jobs.sqlite")
    store.put(RECORD)

    async def main() -> float:
        index = AsyncJobIndex(store)
        with closing(sqlite3.connect(tmp_path / "jobs.sqlite", isolation_level=None)) as base:
            base.execute("BEGIN EXCLUSIVE")
            began = time.monotonic()
            changes = (index.change(RECORD.id, cancelled_at=1.0) for _ in range(10))
            told = await asyncio.gather(*changes, return_exceptions=True)
            took = time.monotonic() - began
            assert {type(one) for one in told} == {Unreachable}
        assert (await index.change(RECORD.id, cancelled_at=2.0)).cancelled_at == 2.0
        return took

    assert asyncio.run(main()) < 2.0


def test_an_index_that_stands_keeps_no_process_from_its_end(tmp_path: Path) -> None:
    """A network file system that hangs: Jupyter Server has to end all the same."""
    code = """if True:
        import asyncio, threading
        from dtrain_lab.services.index.async_index import AsyncJobIndex
        from dtrain_lab.services.index.store import JobIndex

        async def main():
            stands = asyncio.create_task(AsyncJobIndex(JobIndex('none'))._ask(threading.Event().wait))
            await asyncio.sleep(0.1)
            print(stands.done())

        asyncio.run(main())
    """
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "False"


def test_an_index_that_cant_be_written_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    JobIndex(tmp_path / "jobs.sqlite").put(RECORD)
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # the tests may run as root
    assert JobIndex(tmp_path / "jobs.sqlite").active() == [RECORD]
    assert JobIndex(tmp_path / "none" / "jobs.sqlite").active() == []
    assert not (tmp_path / "none").exists()


def test_a_record_is_bound_to_its_folder() -> None:
    own = replace(RECORD, directory="/old/jobs/1234abcd", checkpoints="/old/jobs/parent00/checkpoints")
    data = msgspec.json.encode(own)
    mine, _ = bound("/old/jobs/1234abcd", msgspec.json.encode(replace(own, owner=getpass.getuser())))
    assert (mine.directory, mine.handle) == (own.directory, RECORD.handle)
    moved, filed = bound("/new/jobs/1234abcd", data)
    assert moved.directory == "/new/jobs/1234abcd"
    assert moved.plan.directory == "/new/jobs/1234abcd/code"
    assert moved.checkpoints == "/new/jobs/parent00/checkpoints"
    assert moved.handle is None, "a colleague's: its numbers are of other processes"
    assert msgspec.json.decode(filed, type=JobRecord) == moved
    with pytest.raises(ValueError, match="the record of the job 1234abcd"):
        bound("/new/jobs/1234abcd-copy", data)


def test_checkpoints_are_pruned_by_the_youngest_that_uses_them() -> None:
    def ended(identity: str, at: float, state: Any = "failed") -> Job:
        return replace(FAILED, id=identity, created_at=at - 1, ended_at=at, state=state)

    jobs = [ended("parent", 10.0), ended("child", 90.0), ended("alone", 20.0), ended("runs", 5.0, "running")]
    shared = {"parent": "/p", "child": "/p", "alone": "/a", "runs": "/r"}
    assert [job.id for job in prunable(jobs, shared, 50.0)] == ["alone"]
    assert [job.id for job in prunable(jobs, shared, 100.0)] == ["child", "parent", "alone"]
    assert [job.id for job in prunable(jobs, {**shared, "newer": "/a"}, 100.0)] == ["child", "parent"]
    slow = [replace(ended("child", 9.0), directory="/c"), replace(ended("parent", 10.0), directory="/p")]
    here = {"child": "/p/checkpoints", "parent": "/p/checkpoints"}
    assert [job.id for job in prunable(slow, here, 100.0)] == ["child", "parent"], "by a clock that is behind"
