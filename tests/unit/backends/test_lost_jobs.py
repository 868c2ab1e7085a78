"""A job that nobody hears of: lost is a guess, what can't be asked is not ended, and both may still run."""

from __future__ import annotations

import asyncio
import socket
import sqlite3
import time
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dtrain_lab.backends.base import Backend, Place
from dtrain_lab.backends.hosts import ssh_connections
from dtrain_lab.backends.hosts.base import Done
from dtrain_lab.backends.hosts.ssh_transport import SshTransport
from dtrain_lab.errors import Conflict, DtrainError, StartFailed, Unreachable
from dtrain_lab.machine import processes
from dtrain_lab.services.index.store import JobIndex
from dtrain_lab.services.jobs import ending as job_ending
from dtrain_lab.services.jobs import folder_reads
from dtrain_lab.services.jobs import status as job_status
from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.services.jobs.resumption import starts_over
from dtrain_lab.services.policy import backends
from dtrain_lab.wire.jobs.job import JobRecord
from dtrain_lab.wire.kinds import JOB_ENDED
from dtrain_lab.wire.plan import NodePlan
from dtrain_lab.wire.processes.head_record import Handle
from dtrain_lab.wire.processes.submission import ClusterRecord
from dtrain_lab.wire.profile import Profile, Ssh
from dtrain_lab.wire.status import Status
from dtrain_lab.wire.traits import Traits
from tests.faults import note
from tests.unit.jobs.records import RECORD

TAKEN = replace(RECORD, checkpoints="/f/1234abcd/checkpoints", directory="/f/1234abcd")


class Host:
    """A back-end, and the way to its files."""

    traits = Traits(shares_folder=True)
    time_limit_s, requeues = Backend.time_limit_s, Backend.requeues
    hosts, options, section = Backend.hosts, Backend.options, Backend.section

    def __init__(self) -> None:
        self.small_files: dict[str, bytes] = {"started": b"50.0"}
        self.fate: Any = "ended"
        self.silent = False
        self.told: list[str] = []
        self.removed: list[str] = []
        self.submitting: Callable[[JobRecord], Any] = lambda _: None
        self.full = False
        self.checkpoint = b"/f/1234abcd/checkpoints/step-1/part-0"
        """A file in the folder of checkpoints; empty without one."""

    def _answer(self) -> None:
        if self.silent:
            raise Unreachable("node1 can't be reached.", "Is it on?")

    async def status(self, record: JobRecord) -> Status:
        self._answer()
        return Status(self.fate)

    async def find(self, record: JobRecord) -> Handle | None:
        self._answer()
        return None

    async def cancel(self, record: JobRecord) -> None:
        self._answer()
        self.told.append(record.id)

    async def submit(self, record: JobRecord, files: Any) -> Handle:
        await asyncio.to_thread(self.submitting, record)
        return Handle(record.id, "h", 7)

    def scripts(self, record: JobRecord) -> dict[str, str]:
        return {}

    def files(self, record: JobRecord) -> list[Place]:
        return [Place(self, (0,))]  # type: ignore[arg-type]

    async def read_matching(self, *_: Any) -> dict[str, bytes]:
        return self.small_files

    async def run(self, words: Any, *_: Any) -> Done:
        return Done(0, self.checkpoint if "find" in words[-1] else b"", "")

    async def replace(self, path: str, data: bytes) -> None:
        pass

    async def remove(self, folder: str) -> None:
        if self.full:
            raise Unreachable(f"{folder} can't be removed: it is in use.", "Close it.")
        self.removed.append(folder)

    async def clock_offset_s(self) -> float:
        return 0.0


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    made = Host()
    monkeypatch.setattr(backends, "backend", lambda _: made)
    monkeypatch.setattr(job_status, "FAR_S", 0.0)
    monkeypatch.setattr(job_status, "LOST_EVERY_S", 0.0)
    monkeypatch.setattr(folder_reads, "LATE_AFTER_S", (0.0, 0.01, 0.01))
    return made


usual = folder_reads.LATE_AFTER_S


def with_jobs(tmp_path: Path, work: Callable[[Jobs], Coroutine[Any, Any, None]]) -> JobIndex:
    store = JobIndex(tmp_path / "jobs.sqlite")
    if store.find(TAKEN.id) is None:
        store.put(TAKEN)
    asyncio.run(work(Jobs(store)))
    return store


def test_an_end_that_is_shown_late_is_waited_for(
    tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    async def read_matching(_: str, patterns: Any, *__: Any) -> dict[str, bytes]:
        asked.append(patterns)
        late = asked.count(("exit",)) > 1
        return {**host.small_files, "exit": b'{"code": 0, "at": 60.0}'} if late else host.small_files

    async def main(ours: Jobs) -> None:
        monkeypatch.setattr(host, "read_matching", read_matching)
        monkeypatch.setattr(folder_reads, "LATE_AFTER_S", usual)
        began = time.monotonic()
        ended = await ours.wait(TAKEN.id)
        took = time.monotonic() - began
        assert ended.state == "succeeded"
        fault = "job: a network file system shows its end half a second late"
        kept = "everything: the job doesn't count as lost and isn't started again"
        note(fault, "the query, which is repeated", ended.summary.text, kept, "query → reported", took)

    with_jobs(tmp_path, main)


def test_a_lost_job_is_looked_at_again(tmp_path: Path, host: Host) -> None:
    async def main(ours: Jobs) -> None:
        assert [job.state for job in await ours.listing()] == ["lost"]
        host.small_files["exit"] = b'{"code": 0, "at": 60.0}'  # a network file system shows it late
        assert [job.state for job in await ours.listing()] == ["succeeded"]
        assert (await ours.job(TAKEN.id)).state == "succeeded"

    with_jobs(tmp_path, main)


def test_a_job_that_cant_be_looked_at_hides_no_other(
    tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = JobIndex(tmp_path / "jobs.sqlite")
    for number, name in enumerate(("fine", "gone", "broken")):
        store.put(replace(TAKEN, id=name, directory=f"/{name}", created_at=50.0 - number))
    answers = {
        "/gone": Unreachable("/gone can't be read: Stale file handle.", ""),
        "/broken": TypeError("ours"),
    }

    async def read_matching(folder: str, *_: Any) -> dict[str, bytes]:
        if folder in answers:
            raise answers[folder]
        return host.small_files

    monkeypatch.setattr(host, "read_matching", read_matching)
    began = time.monotonic()
    listed = {job.id: job for job in asyncio.run(Jobs(store).listing())}
    took = time.monotonic() - began
    assert list(listed) == ["fine", "gone", "broken"]
    told = {name: job.reason.message for name, job in listed.items() if job.reason is not None}
    assert told["gone"] == "/gone can't be read: Stale file handle."
    assert "ours" in told["broken"]
    assert listed["fine"].state == "lost"
    fault = "the folder of one of your jobs can't be read (its file system is gone)"
    note(
        fault, "the listing of the jobs", told["gone"], "all jobs are listed", "query → all jobs listed", took
    )


def test_a_lost_job_is_told_to_end(tmp_path: Path, host: Host) -> None:
    async def main(ours: Jobs) -> None:
        await ours.listing()
        assert (await ours.cancel(TAKEN.id)).state == "cancelled"
        assert host.told == [TAKEN.id]

    with_jobs(tmp_path, main)


def test_nothing_goes_on_from_a_lost_job_that_may_still_run(tmp_path: Path, host: Host) -> None:
    async def main(ours: Jobs) -> None:
        await ours.listing()
        host.fate = "running"
        for action in (ours.resume, ours.delete):
            with pytest.raises(Conflict, match="n still runs"):
                await action(TAKEN.id)
        host.fate = "ended"
        child = await ours.resume(TAKEN.id)
        assert host.told == [TAKEN.id], "whatever may be left of it would write the same checkpoints"
        assert child.parent == TAKEN.id

    with_jobs(tmp_path, main)


def test_what_cant_be_asked_is_neither_ended_nor_deleted(tmp_path: Path, host: Host) -> None:
    async def main(ours: Jobs) -> None:
        host.silent = True
        seen = await ours.job(TAKEN.id)
        assert (seen.state, seen.reason and seen.reason.message) == ("running", "node1 can't be reached.")
        for action in (ours.resume, ours.delete):
            with pytest.raises(Conflict, match="unknown whether n still runs: node1 can't be reached"):
                await action(TAKEN.id)
        with pytest.raises(Unreachable):
            await ours.cancel(TAKEN.id)
        assert (await ours.job(TAKEN.id)).state == "stopping"
        host.silent, host.fate = False, "running"
        job_ending.END_AGAIN_S, before = 0.0, job_ending.END_AGAIN_S
        try:
            assert (await ours.job(TAKEN.id)).state == "stopping"
        finally:
            job_ending.END_AGAIN_S = before
        assert host.told == [TAKEN.id], "it is told once it can be reached"
        host.silent = True
        child = await ours.resume(TAKEN.id, force=True)
        await ours.delete(child.id, force=True)
        await ours.delete(TAKEN.id, force=True)
        assert await ours.listing() == []

    with_jobs(tmp_path, main)


def test_a_cancel_during_the_hand_over_is_kept(tmp_path: Path, host: Host) -> None:
    elsewhere = JobIndex(tmp_path / "jobs.sqlite")

    async def main(ours: Jobs) -> None:
        host.submitting = lambda record: elsewhere.change(record.id, cancelled_at=9.0)
        child = await ours.resume(TAKEN.id)
        assert child.state == "cancelled"
        assert host.told == [TAKEN.id, child.id]

    with_jobs(tmp_path, main)
    records = {r.id: r for r in (elsewhere.find(key)[0] for key in elsewhere.ids())}  # type: ignore[index]
    assert [(r.cancelled_at, r.handle and r.handle.pid) for r in records.values() if r.parent] == [(9.0, 7)]


def test_a_resume_that_is_refused_leaves_nothing(tmp_path: Path, host: Host) -> None:
    def refuse(record: JobRecord) -> None:
        raise StartFailed("Slurm refuses.", "")

    async def main(ours: Jobs) -> None:
        host.submitting = refuse
        with pytest.raises(StartFailed):
            await ours.resume(TAKEN.id)
        assert [folder.rpartition("/")[0] for folder in host.removed] == ["/f"]
        assert host.removed != ["/f/1234abcd"]
        assert len(await ours.listing()) == 1

    with_jobs(tmp_path, main)


def test_checkpoints_outlive_whoever_made_them(tmp_path: Path, host: Host) -> None:
    async def main(ours: Jobs) -> None:
        host.small_files["exit"] = b'{"code": 1, "at": 60.0}'
        child = await ours.resume(TAKEN.id)
        assert child.state in JOB_ENDED
        began = time.monotonic()
        lie = rf"The folder of n \(\w+\) contains checkpoints of n \({child.id}\)"
        with pytest.raises(Conflict, match=lie) as refused:
            await ours.delete(TAKEN.id)
        took = time.monotonic() - began
        assert refused.value.details == {"jobs": [child.id]}, "by which the page names them"
        fault = "job: you delete a job whose checkpoints another job still uses"
        told, kept = refused.value.message.replace(child.id, "ID"), "both jobs and their checkpoints"
        note(fault, "the deletion", told, kept, "request → refused", took)
        assert host.removed == []
        assert [job.id for job in await ours.old(100.0)] == [child.id, TAKEN.id]
        await ours.delete(child.id)
        await ours.delete(TAKEN.id)
        assert host.removed == [child.directory, TAKEN.directory]

    with_jobs(tmp_path, main)


def test_a_job_that_is_started_over_has_checkpoints_of_its_own(tmp_path: Path, host: Host) -> None:
    async def main(ours: Jobs) -> None:
        host.small_files["exit"] = b'{"code": 1, "at": 60.0}'
        continued = await ours._records.record((await ours.resume(TAKEN.id)).id)
        assert continued.checkpoints == TAKEN.checkpoints  # files that dt.checkpoint did not complete, too
        await ours.delete(continued.id)
        host.checkpoint = b""
        child = await ours._records.record((await ours.resume(TAKEN.id)).id)
        assert child.checkpoints == f"{child.directory}/checkpoints"
        host.checkpoint = b"/f/of the child/checkpoints/step-1/part-0"
        await ours.delete(TAKEN.id)
        assert host.removed == [continued.directory, TAKEN.directory]

    with_jobs(tmp_path, main)


def test_a_job_is_started_over_beside_checkpoints_that_its_notebook_never_loads(
    tmp_path: Path, host: Host
) -> None:
    async def main(ours: Jobs) -> None:
        host.small_files["exit"] = b'{"code": 1, "at": 60.0}'
        child = await ours._records.record((await ours.resume(TAKEN.id)).id)
        again = replace(child, begins_again=True)
        assert await starts_over(again, 3)
        assert not await starts_over(child, 3)
        assert not await starts_over(child, None)

    with_jobs(tmp_path, main)


def test_an_empty_folder_of_checkpoints_keeps_no_job(tmp_path: Path, host: Host) -> None:
    async def main(ours: Jobs) -> None:
        host.small_files["exit"] = b'{"code": 1, "at": 60.0}'
        child = await ours.resume(TAKEN.id)
        assert child.state in JOB_ENDED
        host.checkpoint = b""  # as where an earlier version started it over
        await ours.delete(TAKEN.id)
        assert host.removed == [TAKEN.directory]

    with_jobs(tmp_path, main)


def test_a_deletion_that_failed_says_so_and_keeps_the_job(tmp_path: Path, host: Host) -> None:
    async def main(ours: Jobs) -> None:
        host.small_files["exit"] = b'{"code": 1, "at": 60.0}'
        host.full = True
        with pytest.raises(Unreachable, match="can't be removed: it is in use"):
            await ours.delete(TAKEN.id)
        assert [job.state for job in await ours.listing()] == ["failed"]

    with_jobs(tmp_path, main)


def test_from_another_machine_nobody_sees_whether_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A home that several machines share: its folder and its pid are there, its processes are not."""
    local = backends.backend("local")
    away = replace(
        RECORD, directory="/no/such", host="far", handle=Handle("1234abcd", "far", 1, 1.0, "/no/such")
    )
    for question in (local.status(away), local.find(replace(away, handle=None)), local.cancel(away)):
        began = time.monotonic()
        with pytest.raises(
            Unreachable,
            match=f"The job was started on far; its processes can't be checked from {socket.gethostname()}",
        ) as told:
            asyncio.run(question)
        took = time.monotonic() - began
    fault = "job: it runs on another machine that shares your home folder, and you view it from this one"
    text = told.value.message.replace(socket.gethostname(), "near")
    kept = "everything: its state is unknown, not lost; cancel, resume and delete are refused"
    note(fault, "the query", text, kept, "query → reported", took)
    for system, local_disk, ended in (
        (processes.system(), False, True),  # this machine, by another name
        ("another-boot pid:[1]", True, True),  # it has booted since
        ("another-boot pid:[1]", False, False),  # a machine of the same name, on a shared file system
        (f"{processes.system().split()[0]} pid:[1]", True, False),  # a container
    ):
        monkeypatch.setattr("dtrain_lab.machine.filesystems.is_local", lambda _, disk=local_disk: disk)
        handle = Handle("1234abcd", socket.gethostname(), 7, 1e9, "/no/such", system=system)
        if ended:
            assert asyncio.run(local.status(replace(away, handle=handle))) == Status("ended")
        else:
            with pytest.raises(Unreachable, match="another machine named"):
                asyncio.run(local.status(replace(away, handle=handle)))
    here = replace(away, handle=Handle("1234abcd", socket.gethostname(), 1, 1e9, "/no/such"))
    assert asyncio.run(local.status(here)) == Status("ended")


SSH = replace(
    RECORD,
    profile=Profile(backend="ssh", ssh=Ssh(hosts=("a", "b"))),
    plan=replace(
        RECORD.plan, backend="ssh", nodes=(NodePlan("a", "", 0, 1, 0, 1), NodePlan("b", "", 1, 1, 0, 1))
    ),
)


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (Done(0, b"runs\n", ""), None, "running"),
        (Done(0, b"Welcome!\ngone\n", ""), Done(0, b"runs\n", ""), "running"),
        (Done(0, b"gone\n", ""), Done(0, b"gone\n", ""), "ended"),
        (Done(0, b"gone\n", ""), Done(1, b"", "bash: fork: Cannot allocate memory"), "unknown"),
        (Done(255, b"", "Connection closed"), None, None),
        (Done(3, b"", "bash: cd: /f: Stale file handle"), None, None),
        (Done(0, b"welcome\n", ""), None, None),
    ],
)
def test_a_command_that_failed_says_nothing_of_a_job(
    monkeypatch: pytest.MonkeyPatch, first: Done, second: Done | None, told: str | None
) -> None:
    async def run(host: str, *_: Any, **__: Any) -> Done:
        done = first if host == "a" else second
        assert done is not None
        return done

    monkeypatch.setattr(ssh_connections, "run", run)
    if told is not None:
        assert (
            asyncio.run(backends.backend("ssh").status(replace(SSH, handle=Handle("1234abcd", "a")))).fate
            == told
        )
        return
    for question in ("status", "find"):
        with pytest.raises(DtrainError, match="a does not report whether the process is running"):
            asyncio.run(
                getattr(backends.backend("ssh"), question)(replace(SSH, handle=Handle("1234abcd", "a")))
            )


@pytest.mark.parametrize(
    ("done", "found"),
    [
        (Done(0, b"", ""), {}),
        (Done(3, b"", ""), None),
        (Done(255, b"", "Connection closed"), "Connection closed"),
        (Done(1, b"", "bash: fork: Cannot allocate memory"), "Cannot allocate memory"),
        (Done(-9, b"x" * 700, ""), "its answer was -9"),
        (Done(0, b"x" * 700, ""), "was cut off"),
    ],
)
def test_a_folder_that_could_not_be_read_is_not_an_empty_one(
    monkeypatch: pytest.MonkeyPatch, done: Done, found: Any
) -> None:
    """Else a job whose end is written there would be lost, and a log at its end."""

    async def run(*_: Any, **__: Any) -> Done:
        return done

    monkeypatch.setattr(ssh_connections, "run", run)
    way = SshTransport("a")
    if not isinstance(found, str):
        assert asyncio.run(way.read_matching("/f", ("exit",))) == found
        return
    with pytest.raises(Unreachable, match=found):
        asyncio.run(way.read_matching("/f", ("exit",)))
    if done.code:
        with pytest.raises(Unreachable, match=found):
            asyncio.run(way.read("/f/log.0"))


@pytest.mark.parametrize(
    ("code", "said", "told"),
    [(0, b"runs\n", "running"), (0, b"gone\n", "ended"), (1, b"", None), (3, b"", None), (255, b"", None)],
)
def test_a_command_that_failed_says_nothing_of_a_cluster(
    monkeypatch: pytest.MonkeyPatch, code: int, said: bytes, told: str | None
) -> None:
    async def run(*_: Any, **__: Any) -> Done:
        return Done(code, said, "bash: fork: Cannot allocate memory")

    monkeypatch.setattr(ssh_connections, "run", run)
    question = backends.backend("ssh").status(
        ClusterRecord(
            "1234abcd", "n", SSH.profile, SSH.plan, "/f", Handle("1234abcd", "a", 7, directory="/f")
        )
    )
    if told is None:
        with pytest.raises(Unreachable, match="does not report whether the process is running"):
            asyncio.run(question)
    else:
        assert asyncio.run(question).fate == told


def test_a_job_that_was_handed_over_is_told_also_where_the_index_is_locked(
    tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error there would have its person submit it a second time."""
    monkeypatch.setattr("dtrain_lab.services.index.file.WAIT_S", 0.1)

    async def main(ours: Jobs) -> None:
        path = tmp_path / "jobs.sqlite"
        with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
            # in the middle of the submission somebody else begins to write, and goes on
            host.submitting = lambda _: other.execute("BEGIN IMMEDIATE")
            child = await ours.resume(TAKEN.id)
            assert child.parent == TAKEN.id
            other.execute("ROLLBACK")
        assert child.id in {job.id for job in await ours.listing()}

    with_jobs(tmp_path, main)
