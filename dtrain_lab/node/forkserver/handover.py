"""Hands a fork server over from the agent of an ending head to the agent of the next: torch stays loaded."""

from __future__ import annotations

import asyncio
import socket
import time
from contextlib import closing
from typing import NamedTuple

import msgspec

from dtrain_lab.wire.processes.settings import HEIR_WITHIN_S

POLL_S = 0.01
MESSAGE = 256


class Inherited(NamedTuple):
    """A fork server that was handed over.

    `pid`, `began`: its process, which is not the new agent's child, and when it started
    (`processes.started`).
    """

    channel: socket.socket
    pid: int
    began: float


async def receive(path: str) -> Inherited | None:
    """Wait for the channel to a fork server.

    Args:
        path: Socket to listen at, in a folder of mode 0700.

    Returns:
        The fork server; None if no agent has handed one over in time, or the socket can't be created.
    """
    loop = asyncio.get_running_loop()
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)) as listening:
        listening.setblocking(False)
        try:
            listening.bind(path)
            listening.listen(1)
            async with asyncio.timeout(2 * HEIR_WITHIN_S):
                peer, _ = await loop.sock_accept(listening)
                with closing(peer):
                    readable = loop.create_future()
                    loop.add_reader(peer, readable.set_result, None)
                    try:
                        await readable
                    finally:
                        loop.remove_reader(peer)
                    message, descriptors, _, _ = socket.recv_fds(peer, MESSAGE, 1)
        except OSError:  # including a time-out: this agent starts its own fork server
            return None
    if not descriptors:
        return None
    channel = socket.socket(fileno=descriptors[0])
    try:
        pid, began = msgspec.msgpack.decode(message, type=tuple[int, float])
    except msgspec.DecodeError:  # of another version: without an agent the fork server ends
        channel.close()
        return None
    return Inherited(channel, pid, began)


async def send(path: str, server: Inherited, until: float) -> bool:
    """Hand a fork server over; returns whether an agent has taken it.

    Args:
        path: Socket at which the agent listens.
        server: The fork server.
        until: When to give up, on the monotonic clock.
    """
    message = msgspec.msgpack.encode((server.pid, server.began))
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)) as peer:
        while True:
            try:
                peer.connect(path)
                socket.send_fds(peer, [message], [server.channel.fileno()])
            except OSError:  # the agent is not ready yet
                if time.monotonic() > until:
                    return False
                await asyncio.sleep(POLL_S)
            else:
                return True
