"""A head on another machine, as its client looks for it: no socket, no scheduler."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dtrain_lab.backends.base import HeadAddress, Status
from dtrain_lab.errors import BadRequest, Conflict, Unreachable
from dtrain_lab.services.connection import head_records, remote_head
from dtrain_lab.services.connection.cluster_connection import ClusterConnection
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.processes.endpoints import Endpoints, Keys
from dtrain_lab.wire.processes.head_record import Handle, HeadRecord, SubmittedWorld
from dtrain_lab.wire.profile import Profile
from tests.fakes.head import plan

ENDPOINTS = Endpoints("w", "node1", "python", 1, 0.0, "/d", ("tcp://l",), ("tcp://c",), Keys("", "", ""))


class Backend:
    """A back-end whose world `status` tells of; `refused`: why the head can't be reached."""

    status_now = Status("running")
    refused: Exception | None = None

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
    found = Backend()
    monkeypatch.setattr(remote_head.backends, "backend", lambda _: found)
    monkeypatch.setattr(remote_head, "POLL_S", 0.0)
    monkeypatch.setattr(remote_head, "STATUS_S", -1.0)
    monkeypatch.setattr(remote_head.RemoteHeadPresence, "_watch_link", lambda _: None)
    monkeypatch.setattr(head_records, "forget", lambda _: None)
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
