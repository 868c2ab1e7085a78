"""A peer without a key, on a socket that listens on TCP: it gets no memory of ours, and no time."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq

from dtrain_lab.head.sockets import Router
from dtrain_lab.machine.net import curve, tcp
from dtrain_lab.wire.codec import chunks
from tests.faults import note

GREETING = b"\xff" + bytes(8) + b"\x7f" + b"\x03\x01" + b"CURVE".ljust(20, b"\0") + bytes(32)
LONG_COMMAND = b"\x06"
FLOOD = 300 << 20
SOCKET_BUFFERS = 32 << 20
"""What the kernel may take in for a peer that has been cut off already."""


@pytest.fixture
def context() -> Iterator[zmq.Context[Any]]:
    made: zmq.Context[Any] = zmq.Context()
    yield made
    made.destroy(linger=0)


def listen(context: zmq.Context[Any], folder: Path, received: Any = lambda *_: None) -> Any:
    """A router on loopback, its URL and its guard."""
    router = Router(context, str(folder / "s"), received, lambda: None)
    guard = curve.Curve(context)
    [url] = router.open_tcp(["127.0.0.1"], range(21000, 22000), guard)
    return router, guard, url


def listen_bare(context: zmq.Context[Any]) -> Any:
    """A socket as a job's first host opens it, its guard and its port: only the guard limits it."""
    guard = curve.Curve(context)
    made, port = tcp.listen(lambda: context.socket(zmq.ROUTER), ["127.0.0.1"], range(21000, 22000), guard)
    return made, guard, port


def flood(port: int) -> int:
    """Send a command of 300 MiB in place of a key; returns how much was taken."""
    sent = 0
    with socket.create_connection(("127.0.0.1", port), timeout=20) as peer:
        peer.sendall(GREETING)
        try:
            peer.sendall(LONG_COMMAND + struct.pack(">Q", FLOOD))
            while sent < FLOOD:
                sent += peer.send(bytes(1 << 16))
        except ConnectionError:
            pass
    return sent


@pytest.mark.asyncio
async def test_a_flood_without_a_key_is_cut_off(context: zmq.Context[Any], tmp_path: Path) -> None:
    router, guard, url = listen(context, tmp_path)
    taken = await asyncio.to_thread(flood, int(url.rpartition(":")[2]))
    assert taken < SOCKET_BUFFERS, "its frames were kept in memory"
    router.close()
    guard.close()


@pytest.mark.asyncio
async def test_a_flood_without_a_key_is_cut_off_by_a_job_s_first_host(context: zmq.Context[Any]) -> None:
    made, guard, port = listen_bare(context)
    began = time.monotonic()
    taken = await asyncio.to_thread(flood, port)
    took = time.monotonic() - began
    assert taken < SOCKET_BUFFERS, "its frames were kept in memory"
    fault = "a client without a key sends 300 MB to a port of a cluster or a job"
    kept = "everything: none of the data is kept in memory"
    note(fault, "the cluster or the job, which ends the connection", "–", kept, "connected → cut off", took)
    made.close(linger=0)
    guard.close()


@pytest.mark.asyncio
async def test_a_silent_stranger_is_cut_off(
    context: zmq.Context[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curve, "HANDSHAKE_MS", 300)
    router, guard, url = listen(context, tmp_path)
    async with asyncio.timeout(20):  # ZeroMQ's own limit is 30 s
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        while await reader.read(1 << 10):
            pass
    writer.close()
    router.close()
    guard.close()


@pytest.mark.asyncio
async def test_a_friend_sends_more_than_a_frame_holds(context: zmq.Context[Any], tmp_path: Path) -> None:
    received: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    router, guard, url = listen(context, tmp_path, lambda _, message: received.set_result(message))
    friend = context.socket(zmq.DEALER)
    curve.introduce(friend, url, guard.keys)
    friend.connect(url)
    message = b"\x91" + bytes(3 * chunks.MOST_FRAME)
    friend.send_multipart(chunks.split(message))
    async with asyncio.timeout(20):
        assert await received == message
    friend.close(linger=0)
    router.close()
    guard.close()
