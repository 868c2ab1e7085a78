"""Which connections are streams: those whose head's process is watched, as a stream doesn't connect again."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec
import pytest
import zmq

from dtrain_lab.backends.base import HeadAddress
from dtrain_lab.head.sockets import Router
from dtrain_lab.services.connection import ClusterConnection, Connection
from dtrain_lab.services.connection.presence import Presence
from dtrain_lab.wire import clients
from dtrain_lab.wire.processes.head_record import HeadRecord


class Head:
    """Answers what time it is, at the path of a client's socket."""

    def __init__(self, folder: Path) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._router = Router(self._context, str(folder / "client"), self._received, lambda: None)

    def close(self) -> None:
        """End as a process does: its socket's file is gone before another head makes its own."""
        self._router.close()
        self._context.term()

    def _received(self, peer: bytes, frame: bytes) -> None:
        call = clients.decode_to_head(frame)
        now = msgspec.msgpack.encode(time.time())
        self._router.send(peer, [clients.encode(clients.Answer(call.id, result=now))])


def record(folder: Path) -> HeadRecord:
    fields = {field.name: {int: 0, float: 0.0}.get(field.type, "") for field in _required()}
    return HeadRecord(**{**fields, "name": "job", "pid": os.getpid(), "socket": str(folder / "client")})


def _required() -> list[msgspec.structs.FieldInfo]:
    return [field for field in msgspec.structs.fields(HeadRecord) if field.required]


@pytest.mark.parametrize("again", [False, True], ids=["one head", "a head in the place of another"])
async def test_a_job_is_reached_at_its_path_also_when_its_head_is_another_one(
    tmp_path: Path, again: bool
) -> None:
    head = Head(tmp_path)
    way = HeadAddress(f"ipc://{tmp_path / 'client'}")
    connection = Connection("j", "job", str(tmp_path), lambda c: Presence(c, way))
    await connection.open()
    assert await connection.ask_head(clients.Clock(), 10) > 0
    assert not connection.near
    assert connection.socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)  # as a back-end's cluster needs it
    connection.socket.disable_monitor()
    if again:
        head.close()
        head = Head(tmp_path)
        assert await connection.ask_head(clients.Clock(), 10) > 0
    connection.close()
    head.close()


async def test_a_cluster_of_this_machine_has_a_stream(tmp_path: Path) -> None:
    head = Head(tmp_path)
    connection = ClusterConnection(record(tmp_path))
    await connection.open()
    assert connection.near
    assert await connection.ask_head(clients.Clock(), 10) > 0
    connection.close()
    head.close()
