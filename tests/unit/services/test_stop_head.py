"""How a client stops a head: what is killed, and what only is asked again."""

from __future__ import annotations

import asyncio
import errno
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from dtrain_lab.backends.base import HeadAddress
from dtrain_lab.errors import NotFound, Unreachable
from dtrain_lab.machine import atomic_files, supervision
from dtrain_lab.services import endings
from dtrain_lab.services.connection import NO_ANSWER, ClusterConnection, Connection, head_records
from dtrain_lab.services.connection.presence import Presence
from dtrain_lab.services.worlds import heads
from dtrain_lab.wire import VERSION, clients
from dtrain_lab.wire.endings import Ending
from dtrain_lab.wire.processes.head_record import Handle, HeadRecord, SubmittedWorld
from dtrain_lab.wire.processes.submission import ClusterRecord
from dtrain_lab.wire.profile import Profile
from tests.fakes.head import plan

ENDED = Unreachable("It has ended.", code="ended")
SILENT = Unreachable("It did not answer.", code=NO_ANSWER)


class Head:
    """A connection whose requests end one after the other as given; None: the head obeys."""

    id = "1"
    record = HeadRecord("1", "it", "here", "/d", 0.0, VERSION)

    def __init__(self, *ends: Unreachable | None) -> None:
        self.ends = list(ends)

    async def ask(self, *_: Any) -> None:
        end = self.ends.pop(0)
        if end is not None:
            raise end


@pytest.mark.parametrize(
    ("ends", "obeys", "killed"),
    [
        ((None,), True, False),
        ((SILENT,), False, True),
        ((ENDED,), False, False),
    ],
)
async def test_only_a_head_that_does_not_answer_in_time_is_killed(
    ends: tuple[Unreachable | None, ...], obeys: bool, killed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[HeadRecord] = []
    monkeypatch.setattr(head_records, "kill", lambda record: calls.append(record) or True)
    head = Head(*ends)
    assert await heads.end(cast(ClusterConnection, head), Ending()) is obeys
    assert (bool(calls), head.ends) == (killed, [])


async def test_a_head_that_could_not_answer_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head_records, "kill", lambda _: pytest.fail("killed"))
    with pytest.raises(Unreachable):
        await heads.end(cast(ClusterConnection, Head(Unreachable("A bug.", code="internal"))), Ending())


@pytest.mark.parametrize("known", [True, False])
async def test_a_silent_head_on_another_machine_is_ended_by_its_back_end(
    known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its scheduler may have ended it already, and know it no more."""
    cancelled: list[str] = []

    async def cancel(cluster: ClusterRecord) -> None:
        cancelled.append(cluster.id)
        if not known:
            raise NotFound("There is no such job.")

    monkeypatch.setattr(heads.backends, "backend", lambda name: SimpleNamespace(cancel=cancel))
    remote = SubmittedWorld(Profile(backend="slurm"), plan(1, 1), Handle("7", "login"), "me")
    head = Head(SILENT)
    head.record = msgspec.structs.replace(head.record, remote=remote)
    assert not await heads.end(cast(ClusterConnection, head), Ending())
    assert cancelled == ["1"]


async def test_a_request_to_stop_that_a_lost_connection_may_have_cost_is_sent_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    way = HeadAddress("ipc:///nowhere")
    connection = Connection("1", "it", "/d", lambda c: Presence(c, way))
    sent: list[clients.Request] = []
    monkeypatch.setattr(connection, "send", sent.append)
    monkeypatch.setattr(connection, "connect", lambda *_, **__: None)
    with pytest.raises(Unreachable) as silent:
        await connection.ask_head(clients.Stop(), 0.0)
    assert silent.value.code == NO_ANSWER
    asked = asyncio.ensure_future(heads.end(connection, Ending()))
    while len(sent) < 2:
        await asyncio.sleep(0)
    connection._reconnect(way)
    assert sent[2] is sent[1]
    connection._pending.answered(clients.Answer(sent[1].id, result=b"\xc0"))
    assert await asked
    connection.close()
    await supervision.here().close()


async def test_a_full_disk_stops_no_stop(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(atomic_files, "swap", full)
    assert await heads.end(cast(ClusterConnection, Head(None)), Ending("kernel", "a.ipynb", 5.0))
    assert "No space left" in caplog.text
    assert endings.of("1") is None
