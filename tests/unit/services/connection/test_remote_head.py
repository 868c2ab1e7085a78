"""A head on another machine, as its client looks for it: no socket, no scheduler."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from dtrain_lab.backends.base import HeadAddress, Place, Status
from dtrain_lab.backends.hosts.local_transport import LocalTransport
from dtrain_lab.errors import BadRequest, Conflict, NotFound, Unreachable
from dtrain_lab.services.connection import head_records, remote_cluster, remote_head
from dtrain_lab.services.connection.cluster_connection import ClusterConnection
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.processes.endpoints import Endpoints, Keys
from dtrain_lab.wire.processes.head_record import Handle, HeadRecord, SubmittedWorld
from dtrain_lab.wire.processes.submission import ClusterRecord
from dtrain_lab.wire.profile import Profile
from dtrain_lab.wire.traits import Traits
from tests.fakes.head import plan

ENDPOINTS = Endpoints("w", "node1", "python", 1, 0.0, "/d", ("tcp://l",), ("tcp://c",), Keys("", "", ""))


class Backend:
    """A back-end whose world `status` tells of; `refused`: why the head can't be reached."""

    traits = Traits(shares_folder=True)
    status_now = Status("running")
    refused: Exception | None = None
    cancel_fails: Exception | None = None

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.found: asyncio.Queue[Handle | None] = asyncio.Queue()
        """What `find` returns, one after the other."""
        self.cancelled: list[Handle | None] = []

    @staticmethod
    def poll_floor_s() -> float:
        return -1.0

    async def find(self, _: Any) -> Handle | None:
        return await self.found.get()

    async def cancel(self, cluster: ClusterRecord) -> None:
        self.cancelled.append(cluster.handle)
        if self.cancel_fails is not None:
            raise self.cancel_fails

    def files(self, _: Any) -> list[Place]:
        return [Place(LocalTransport(), (0,))]

    async def log(self, *_: Any) -> bytes:
        return b""

    async def reach(self, *_: Any) -> HeadAddress:
        if self.refused is not None:
            raise self.refused
        return HeadAddress("ipc:///c")

    async def status(self, _: Any) -> Status:
        return self.status_now


class Client:
    """A connection without a socket."""

    def __init__(self, record: HeadRecord) -> None:
        self.record = record
        self.id, self.name, self.directory = record.id, record.name, record.directory
        self.closed = False
        self.socket: Any = None
        self.connects = self.disconnects = 0
        self.asked: list[Any] = []
        self.answers: list[Exception] = []
        """What the next requests to the head raise."""
        self.told: asyncio.Queue[Cluster] = asyncio.Queue()
        self.over = asyncio.Event()

    def connect(self, _: HeadAddress) -> None:
        self.connects += 1
        monitor = SimpleNamespace()
        self.socket = SimpleNamespace(get_monitor_socket=lambda _: monitor, disable_monitor=lambda: None)

    def disconnect(self) -> None:
        if self.socket is not None:
            self.disconnects += 1
            self.socket = None

    def close(self) -> None:
        self.closed = True

    def has_ended(self) -> None:
        self.over.set()

    def notify(self, cluster: Cluster) -> None:
        self.told.put_nowait(cluster)

    def pending(self, _: int) -> None:
        return None

    def resend_or_fail(self) -> None:
        raise AssertionError

    async def ask_head(self, body: clients.AnyBody, within_s: float | None = 30.0) -> Any:
        self.asked.append(body)
        if self.answers and not isinstance(body, clients.Clock):
            raise self.answers.pop(0)
        return 0.0

    async def watch_again(self) -> None:
        if self.answers:
            raise self.answers.pop(0)

    async def catch_up(self, shown: Any) -> None:
        raise AssertionError(shown)


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Backend:
    found = Backend(tmp_path)
    monkeypatch.setattr(remote_cluster.backends, "backend", lambda _: found)
    monkeypatch.setattr(remote_head, "POLL_S", 0.0)
    monkeypatch.setattr(remote_head, "STATUS_S", -1.0)
    monkeypatch.setattr(remote_head, "STOPPED_S", -1.0)
    monkeypatch.setattr(remote_head.RemoteHeadPresence, "_watch_link", lambda _: None)
    monkeypatch.setattr(head_records, "path_of", lambda identity: tmp_path / f"{identity}.json")
    return found


def record(endpoints: Endpoints | None = ENDPOINTS) -> HeadRecord:
    remote = SubmittedWorld(
        Profile(backend="slurm"), plan(1, 2), Handle("7", "login", endpoints=endpoints), "me"
    )
    return HeadRecord("w", "far", "/d", 0.0, 1, remote=remote)


@pytest.mark.asyncio
async def test_a_world_that_can_not_be_reached_any_more_has_ended_as_its_back_end_says(
    backend: Backend,
) -> None:
    backend.refused = Unreachable("No route to node1.", "")
    client = Client(record())
    presence = remote_head.RemoteHeadPresence(client)
    looking = asyncio.ensure_future(presence._come_up())
    shown = await asyncio.wait_for(client.told.get(), 20)
    assert shown.reason is not None
    assert shown.reason.message == "No route to node1."
    backend.status_now = Status("ended")
    await asyncio.wait_for(client.over.wait(), 20)
    await asyncio.wait_for(looking, 20)


@pytest.mark.asyncio
async def test_a_head_that_was_not_reached_yet_is_not_said_to_be_lost(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    presence = remote_head.RemoteHeadPresence(Client(record()))
    backend.refused = Unreachable("It does not listen yet.", "")

    async def said() -> str:
        text: str = (await presence.answer_for_head(clients.Info())).summary.text
        return text

    monkeypatch.setattr(remote_head, "OPEN_WITHIN_S", 1000.0)
    opening = asyncio.ensure_future(presence.open())
    await asyncio.sleep(0)
    assert await said() == "far starts on its nodes."
    presence._cut = True
    assert (await said()).startswith("far can't be reached now.")
    presence._cut = False
    monkeypatch.setattr(remote_head, "OPEN_WITHIN_S", 0.0)
    assert (await said()).startswith("far can't be reached now."), "the first attempt takes too long"
    opening.cancel()
    presence.close()


@pytest.mark.asyncio
async def test_an_error_of_a_head_that_was_connected_to_disconnects_and_keeps_leases(
    backend: Backend,
) -> None:
    client = Client(record())
    presence = remote_head.RemoteHeadPresence(client)
    hold = clients.AcquireLease(lease=clients.Lease("kernel", "here", 1, 0.0), attach=True)
    await presence.answer_for_head(hold)
    client.answers = [Unreachable("It did not answer.", ""), BadRequest("Not a lease.", "")]
    await asyncio.wait_for(presence._come_up(), 20)
    assert (client.connects, client.disconnects) == (3, 2)
    assert presence.up
    assert client.asked.count(hold) == 2, (
        "one that was not answered is asked again, one that was refused is not"
    )


@pytest.mark.asyncio
async def test_a_cell_for_a_cluster_in_the_queue_is_refused_in_words(backend: Backend) -> None:
    connection = ClusterConnection(record(None))
    order = clients.Run(cell="c", code="pass", label="[1]")
    for asked in (connection.run(order, print), connection.follow("c", print)):
        with pytest.raises(Conflict, match="far is not ready: far waits in the queue"):
            await asked


QUEUED = Handle("w", "login", directory="/d", job="7")


def unconfirmed(backend: Backend, age_s: float = 0.0) -> Client:
    """A client of a cluster whose submission nobody has confirmed, and its record."""
    folder = backend.folder / "w"
    folder.mkdir()
    remote = SubmittedWorld(Profile(backend="slurm"), plan(1, 2), None, "me")
    client = Client(HeadRecord("w", "far", str(folder), time.time() - age_s, 1, remote=remote))
    head_records.write(client.record)
    return client


def known() -> SubmittedWorld:
    """What the record says."""
    found = head_records.read("w")
    assert found is not None
    assert found.remote is not None
    return found.remote


@pytest.mark.asyncio
async def test_a_cluster_whose_client_was_killed_is_found_by_its_id(backend: Backend) -> None:
    client = unconfirmed(backend)
    presence = remote_head.RemoteHeadPresence(client)
    looking = asyncio.ensure_future(presence._come_up())
    backend.found.put_nowait(None)  # the scheduler may have it a moment later
    shown = await asyncio.wait_for(client.told.get(), 20)
    assert (shown.state, shown.summary.text) == ("pending", "far is being submitted.")
    backend.found.put_nowait(replace(QUEUED, endpoints=ENDPOINTS))
    await asyncio.wait_for(looking, 20)
    assert presence.up
    assert known().handle == replace(QUEUED, endpoints=ENDPOINTS)


@pytest.mark.asyncio
async def test_what_the_submitting_client_has_written_is_read(backend: Backend) -> None:
    client = unconfirmed(backend)
    looking = asyncio.ensure_future(remote_head.RemoteHeadPresence(client)._come_up())
    backend.found.put_nowait(None)
    await asyncio.wait_for(client.told.get(), 20)
    handle = replace(QUEUED, endpoints=ENDPOINTS)
    head_records.write(replace(client.record, remote=replace(known(), handle=handle)))
    backend.found.put_nowait(None)
    await asyncio.wait_for(looking, 20)
    assert client.record.remote is not None
    assert client.record.remote.handle == handle


@pytest.mark.asyncio
async def test_a_submission_that_was_refused_ends_for_those_who_watch_it(backend: Backend) -> None:
    client = unconfirmed(backend)
    head_records.forget("w")
    await asyncio.wait_for(remote_head.RemoteHeadPresence(client)._come_up(), 20)
    assert client.over.is_set()


@pytest.mark.asyncio
async def test_a_cluster_that_was_never_accepted_says_so_and_can_not_start_later(backend: Backend) -> None:
    client = unconfirmed(backend, age_s=2 * remote_cluster.SUBMITTED_WITHIN_S)
    presence = remote_head.RemoteHeadPresence(client)
    backend.found.put_nowait(None)
    await asyncio.wait_for(presence._come_up(), 20)
    shown = await presence.answer_for_head(clients.Info())
    assert (shown.state, shown.may) == ("failed", ("remove",))
    assert shown.reason.message == "Its start was interrupted before it was submitted."
    assert not Path(client.record.directory).exists()
    await presence.answer_for_head(clients.Stop())
    assert head_records.read("w") is None


@pytest.mark.asyncio
@pytest.mark.parametrize("accepted", [True, False])
async def test_a_stop_before_the_submission_is_confirmed(backend: Backend, accepted: bool) -> None:
    client = unconfirmed(backend)
    presence, folder = remote_head.RemoteHeadPresence(client), Path(client.record.directory)
    for found in (QUEUED,) if accepted else (None, None):
        backend.found.put_nowait(found)
    await presence.answer_for_head(clients.Stop())
    assert backend.cancelled == ([QUEUED] if accepted else [])
    assert folder.exists() is accepted, "without it, its script ends at once"
    backend.status_now = Status("ended")
    await asyncio.wait_for(presence._come_up(), 20)
    assert client.over.is_set()
    assert head_records.read("w") is None


@pytest.mark.asyncio
async def test_without_a_shared_folder_a_stop_waits_until_nothing_can_start_any_more(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = unconfirmed(backend)
    presence = remote_head.RemoteHeadPresence(client)
    monkeypatch.setattr(backend, "traits", Traits())
    for _ in range(4):
        backend.found.put_nowait(None)
    with pytest.raises(Unreachable, match="far is still being submitted"):
        await presence.answer_for_head(clients.Stop())
    assert head_records.read("w") is not None
    client.record = replace(client.record, created_at=time.time() - 2 * remote_cluster.SUBMITTED_WITHIN_S)
    await presence.answer_for_head(clients.Stop())
    assert client.over.is_set()


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "fails",
    [
        Unreachable("Slurm does not answer."),
        NotFound("This machine has no command squeue.", code="no_command"),
    ],
)
async def test_a_stop_that_is_not_confirmed_forgets_nothing(backend: Backend, fails: Exception) -> None:
    client = Client(record(None))
    head_records.write(client.record)
    presence = remote_head.RemoteHeadPresence(client)
    backend.cancel_fails = fails
    with pytest.raises(type(fails)):
        await presence.answer_for_head(clients.Stop())
    assert known().handle is not None
    assert not client.over.is_set()


@pytest.mark.asyncio
async def test_a_cluster_that_its_scheduler_has_cancelled_is_forgotten_at_once(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its nodes may take minutes to end it."""
    monkeypatch.setattr(backend, "traits", Traits(schedules=True, shares_folder=True))
    client = Client(record(None))
    head_records.write(client.record)
    await remote_head.RemoteHeadPresence(client).answer_for_head(clients.Stop())
    assert client.over.is_set()
    assert head_records.read("w") is None


@pytest.mark.asyncio
async def test_a_stopped_cluster_is_forgotten_once_it_has_ended(backend: Backend) -> None:
    client = Client(record(None))
    head_records.write(client.record)
    presence = remote_head.RemoteHeadPresence(client)
    await presence.answer_for_head(clients.Stop())
    looking = asyncio.ensure_future(presence._come_up())
    await asyncio.wait_for(client.told.get(), 20)
    assert head_records.read("w") is not None, "its head may not obey"
    backend.status_now = Status("ended")
    await asyncio.wait_for(looking, 20)
    assert client.over.is_set()
    assert head_records.read("w") is None
