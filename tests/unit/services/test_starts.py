"""Starts that don't go to their end: nothing runs that no client knows."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace

from dtrain_lab.backends.base import UNSURE
from dtrain_lab.backends.slurm.backend import SlurmBackend
from dtrain_lab.errors import Conflict, DtrainError, StartFailed, Unreachable
from dtrain_lab.services import paths
from dtrain_lab.services.connection import head_records
from dtrain_lab.services.policy import backends
from dtrain_lab.services.profiles import files as profiles
from dtrain_lab.services.worlds import heads, open_connections, resize
from dtrain_lab.services.worlds.open_connections import OpenConnections
from dtrain_lab.services.worlds.undo import whole_or_undone
from dtrain_lab.wire.plan import Request
from dtrain_lab.wire.processes.head_record import Handle, HeadRecord, Server, SubmittedWorld
from dtrain_lab.wire.processes.submission import Submission
from dtrain_lab.wire.profile import Profile
from tests.fakes.head import plan

pytestmark = pytest.mark.asyncio


class Held(SlurmBackend):
    """Its scheduler takes a cluster when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = asyncio.Event()
        self.answer: asyncio.Future[Handle] = asyncio.get_running_loop().create_future()
        self.cancelled: list[Handle | None] = []
        self.submitted: Submission | None = None

    async def submit(self, submission: Submission, files: Mapping[str, bytes]) -> Handle:
        self.submitted = submission
        self.reached.set()
        return await self.answer

    async def cancel(self, submission: Submission) -> None:
        self.cancelled.append(submission.handle)


@pytest_asyncio.fixture
async def scheduler(monkeypatch: pytest.MonkeyPatch) -> Held:
    made = Held()
    monkeypatch.setattr(backends, "backend", lambda _: made)
    return made


async def submit(scheduler: Held) -> tuple[asyncio.Task[HeadRecord], HeadRecord]:
    """A submission that the scheduler has not answered, and its record."""
    profile = Profile(backend="slurm", workdir="/work")
    submitting = asyncio.create_task(
        heads.submit(plan(1, 1), profile, Request(ranks=1), "mine", server=Server(4, 2.5))
    )
    async with asyncio.timeout(20):
        await scheduler.reached.wait()
    assert scheduler.submitted is not None
    known = head_records.read(scheduler.submitted.id)
    assert known is not None, "it is known before the scheduler has it"
    assert known.remote is not None
    assert (known.name, known.server, known.remote.handle) == ("mine", 4, None)
    assert known.directory == scheduler.submitted.directory
    return submitting, known


def handle(known: HeadRecord) -> Handle:
    return Handle(known.id, "login", directory=known.directory, job="7")


async def test_the_record_is_written_before_the_submission_and_completed_after_it(scheduler: Held) -> None:
    submitting, known = await submit(scheduler)
    scheduler.answer.set_result(handle(known))
    record = await submitting
    assert record.remote is not None
    assert record.remote.handle == handle(known)
    assert head_records.read(known.id) == record
    head_records.forget(known.id)


@pytest.mark.parametrize(
    ("error", "kept"),
    [
        (StartFailed("Slurm refuses."), False),
        (Unreachable("Slurm did not answer."), False),
        (Unreachable("Slurm may have it.", code=UNSURE), True),
        (RuntimeError("a bug"), True),
    ],
)
async def test_the_record_goes_with_a_refusal_only(scheduler: Held, error: Exception, kept: bool) -> None:
    submitting, known = await submit(scheduler)
    scheduler.answer.set_exception(error)
    with pytest.raises(type(error)):
        await submitting
    assert (head_records.read(known.id) is not None) is kept
    head_records.forget(known.id)


async def test_a_cluster_that_was_stopped_during_its_submission_is_cancelled(scheduler: Held) -> None:
    submitting, known = await submit(scheduler)
    head_records.forget(known.id)
    scheduler.answer.set_result(handle(known))
    with pytest.raises(StartFailed, match="mine was stopped while it was submitted"):
        await submitting
    assert scheduler.cancelled == [handle(known)]
    assert head_records.read(known.id) is None


async def test_what_another_client_has_found_meanwhile_stays(scheduler: Held) -> None:
    submitting, known = await submit(scheduler)
    assert known.remote is not None
    found = replace(known, remote=replace(known.remote, handle=replace(handle(known), host="elsewhere")))
    head_records.write(found)
    scheduler.answer.set_result(handle(known))
    assert await submitting == found
    head_records.forget(known.id)


class Start:
    """A start that goes on when the test says so."""

    def __init__(self) -> None:
        self.reached, self.go_on = asyncio.Event(), asyncio.Event()
        self.stopped: list[str] = []
        self.fails: DtrainError | None = None

    async def work(self) -> str:
        self.reached.set()
        await self.go_on.wait()
        if self.fails is not None:
            raise self.fails
        return "cluster"

    async def stop(self, what: str) -> None:
        self.stopped.append(what)


@pytest.mark.parametrize("fails", [None, StartFailed("Slurm refuses.")])
async def test_an_interrupted_start_is_finished_and_then_undone(fails: DtrainError | None) -> None:
    start = Start()
    start.fails = fails
    caller = asyncio.create_task(whole_or_undone(start.work(), start.stop))
    await start.reached.wait()
    caller.cancel()
    await asyncio.sleep(0)
    assert not caller.done(), "whoever interrupts waits until nothing is left"
    start.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert start.stopped == ([] if fails else ["cluster"])


async def test_a_start_that_nobody_interrupts_stays() -> None:
    start = Start()
    start.go_on.set()
    assert await whole_or_undone(start.work(), start.stop) == "cluster"
    assert start.stopped == []


class Connection:
    """A connection that opens when the test says so."""

    made: list[Connection] = []
    opens: asyncio.Event
    fails = False

    def __init__(self, record: HeadRecord) -> None:
        self.record, self.closed = record, False
        self.made.append(self)

    async def open(self) -> None:
        await self.opens.wait()
        if self.fails:
            raise Unreachable("It has ended.", code="ended")

    def close(self) -> None:
        self.closed = True


@pytest_asyncio.fixture
async def connections(monkeypatch: pytest.MonkeyPatch) -> OpenConnections:
    monkeypatch.setattr(open_connections, "ClusterConnection", Connection)
    monkeypatch.setattr(Connection, "made", [])
    monkeypatch.setattr(Connection, "opens", asyncio.Event(), raising=False)
    return OpenConnections()


RECORD = HeadRecord("1", "far", "/d", 0.0, 1)


async def test_callers_at_the_same_time_share_one_connection(connections: OpenConnections) -> None:
    callers = [asyncio.create_task(connections.reach(RECORD)) for _ in range(3)]
    await asyncio.sleep(0)
    callers[0].cancel()  # it costs the others nothing
    Connection.opens.set()
    one, two = await asyncio.gather(*callers[1:])
    assert one is two
    assert await connections.reach(RECORD) is one
    assert len(Connection.made) == 1
    connections.close()
    assert one.closed
    assert await connections.reach(RECORD) is not one


async def test_a_connection_that_does_not_open_is_closed_and_tried_again(
    connections: OpenConnections, monkeypatch: pytest.MonkeyPatch
) -> None:
    Connection.opens.set()
    monkeypatch.setattr(Connection, "fails", True)
    with pytest.raises(Unreachable):
        await connections.reach(RECORD)
    assert Connection.made[0].closed
    monkeypatch.setattr(Connection, "fails", False)
    assert not (await connections.reach(RECORD)).closed


async def test_a_client_that_closes_leaves_no_connection_that_is_being_opened(
    connections: OpenConnections,
) -> None:
    caller = asyncio.create_task(connections.reach(RECORD))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    connections.close()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert Connection.made[0].closed


async def test_an_older_record_takes_nothing_from_what_a_connection_knows(
    connections: OpenConnections,
) -> None:
    far = replace(RECORD, remote=SubmittedWorld(Profile(backend="slurm"), plan(1, 1), None, "me"))
    Connection.opens.set()
    made = await connections.reach(far)
    assert far.remote is not None
    made.record = replace(far, remote=replace(far.remote, handle=Handle("1", "login", job="7")))
    assert (await connections.reach(far)).record.remote != far.remote


def cluster(profile: str) -> Any:
    return type("Info", (), {"profile": profile, "name": "mine"})


async def test_a_cluster_is_resized_with_the_profile_that_it_was_started_with() -> None:
    started = Profile(name="mine", backend="slurm", workdir="/work")
    far = replace(RECORD, remote=SubmittedWorld(started, plan(1, 1), Handle("1", "login", job="7"), "me"))
    assert resize.profile_of(far, cluster("no-such-profile")) == started
    profiles.write("mine", 'backend = "slurm"\n')
    try:
        with pytest.raises(Conflict, match="was changed since mine was started"):
            resize.profile_of(RECORD, cluster("mine"))
        assert resize.profile_of(RECORD, cluster("local")).backend == "local"
    finally:
        (paths.profiles() / "mine.toml").unlink()
