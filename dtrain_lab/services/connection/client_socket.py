"""The socket below a connection: a unix stream to a cluster's head on this machine, else ZeroMQ."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import zmq

from dtrain_lab.backends.base import HeadAddress
from dtrain_lab.machine.net import listener
from dtrain_lab.machine.net.curve import introduce
from dtrain_lab.machine.net.streams import Stream
from dtrain_lab.machine.net.zmq_drain import Drain
from dtrain_lab.wire.clients import HIGH_WATER_MARK
from dtrain_lab.wire.codec import chunks

LINGER_MS = 200
HEARTBEAT_MS, SILENT_MS = 15_000, 90_000
"""Network connections only: the heartbeat interval, and the silence after which ZeroMQ reconnects."""


class ClientSocket:
    """Carries encoded messages between a client and a head.

    Args:
        received: Called with the frames that have arrived.
        broken: Called when the head has closed a stream, with the address that led to it. ZeroMQ reconnects
            by itself.
    """

    def __init__(
        self, received: Callable[[list[bytes]], None], broken: Callable[[HeadAddress], None]
    ) -> None:
        self.socket: Any = None
        """ZeroMQ's socket, where it leads to the head."""
        self._received, self._broken = received, broken
        self._drain: Drain | None = None
        self._stream: Stream | None = None

    @property
    def near(self) -> bool:
        """Whether a stream leads to the head, so that a thread can send without the loop."""
        return self._stream is not None

    def connect(self, address: HeadAddress, *, stream: bool = False) -> None:
        """Connect to the head; its messages are received in the running loop.

        Args:
            address: Address of the head.
            stream: Use a stream where the head has one. A stream doesn't connect again, so its head's process
                has to be watched; ZeroMQ finds a head that takes the place of this one.
        """
        near = listener.connect(address.url) if stream else None
        if near is not None:
            self._stream = Stream(near, self._received, partial(self._broken, address))
            return
        self.socket = zmq.Context.instance().socket(zmq.DEALER)
        self.socket.linger = LINGER_MS
        self.socket.sndhwm = 0
        self.socket.rcvhwm = HIGH_WATER_MARK
        if address.keys is not None:
            introduce(self.socket, address.url, address.keys)
            # a dead network sends no error, so heartbeats detect it; missed messages are requested again
            self.socket.heartbeat_ivl = HEARTBEAT_MS
            self.socket.heartbeat_timeout = self.socket.heartbeat_ttl = SILENT_MS
        self.socket.connect(address.url)
        self._drain = Drain(self.socket, self._received)

    def send(self, frame: bytes) -> bool:
        """Send a message, which waits while the head does not read; returns whether there is a socket."""
        stream = self._stream
        if stream is not None:
            stream.send((frame,))
            return True
        if self.socket is None:
            return False
        self.socket.send_multipart(chunks.split(frame))
        assert self._drain is not None
        self._drain.sent()
        return True

    def close(self) -> None:
        """Close the socket; another one can be connected."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        if self._drain is not None:
            self._drain.close()
            self.socket.close()
            self.socket = self._drain = None
