"""Reads a ZeroMQ socket in an event loop: its descriptor is edge-triggered, so it is drained in bursts.

A future per message (zmq.asyncio) costs more than the message; here one wake-up takes all waiting messages.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import zmq

from dtrain_lab.wire.codec import chunks


class Drain:
    """Reads all messages of a socket.

    Args:
        socket: The socket to read.
        take: Called with the frames of each message.
        burst: Messages read per loop iteration, so that other work isn't starved.
        drained: Called after each burst.
    """

    def __init__(
        self,
        socket: Any,
        take: Callable[[list[bytes]], None],
        burst: int = 256,
        drained: Callable[[], None] | None = None,
    ) -> None:
        self._socket = socket
        self._take = take
        self._burst = burst
        self._drained = drained
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(int(socket.fd), self._read)
        # messages that arrived before the first read are not signalled
        self._again: asyncio.Handle | None = self._loop.call_soon(self._read)

    def sent(self) -> None:
        """To be called after each send, which can swallow the wake-up for messages that arrived meanwhile."""
        if self._again is None:
            self._again = self._loop.call_soon(self._read)

    def close(self) -> None:
        """Stop reading."""
        if self._again is not None:
            self._again.cancel()
        self._loop.remove_reader(int(self._socket.fd))

    def _read(self) -> None:
        self._again = None
        for _ in range(self._burst):
            if self._socket.closed:
                return
            # most reads after a send find nothing, and a raised `zmq.Again` costs eight times as much
            if not self._socket.get(zmq.EVENTS) & zmq.POLLIN:
                break
            self._take(self._socket.recv_multipart(zmq.NOBLOCK))
        else:
            self._again = self._loop.call_soon(self._read)
        if self._drained is not None:
            self._drained()


class Dealer:
    """A ZeroMQ connection that any thread may use to send; created in the loop that reads.

    Args:
        socket: A connected DEALER.
        take: Called with the frames of each message.
        loop: The loop that reads.
    """

    def __init__(
        self, socket: Any, take: Callable[[list[bytes]], None], loop: asyncio.AbstractEventLoop
    ) -> None:
        self._socket = socket
        self._loop = loop
        self._drain = Drain(socket, take)
        self._thread = threading.get_ident()
        self._leaving: deque[list[bytes]] = deque()

    def send(self, messages: Iterable[bytes]) -> None:
        """Send messages in order: at once in the loop's thread, otherwise in its next iteration."""
        self._leaving.append([frame for message in messages for frame in chunks.split(message)])
        if threading.get_ident() == self._thread:
            self._send()
        else:
            self._loop.call_soon_threadsafe(self._send)

    def _send(self) -> None:
        while self._leaving:
            self._socket.send_multipart(self._leaving.popleft())
        self._drain.sent()
