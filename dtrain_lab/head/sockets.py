"""The head's sockets: streams for this machine, and ROUTERs, which are read in bursts."""

from __future__ import annotations

import itertools
import logging
import os
import socket as sockets
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import zmq

from dtrain_lab.errors import WireMismatch
from dtrain_lab.machine import supervision
from dtrain_lab.machine.net import ipv6, tcp
from dtrain_lab.machine.net.curve import Curve
from dtrain_lab.machine.net.listener import SUFFIX, Listener
from dtrain_lab.machine.net.streams import Stream
from dtrain_lab.machine.net.zmq_drain import Drain
from dtrain_lab.wire.codec import chunks

log = logging.getLogger("dtrain_lab.link")
BURST = 512
Sent = Literal["sent", "full", "gone"]
LOCAL, REMOTE, STREAM = b"l", b"r", b"s"
"""First byte of a peer's name: the socket through which it is connected."""
LINGER_S = 0.5
"""Seconds to send queued messages at the end, for all peers of streams together."""
LEAST_LINGER_S = 0.01
"""Minimum seconds per peer, in case earlier peers no longer read."""
MOST_BYTES = 4 << 20
"""Maximum bytes queued for a stream's peer if `most` is set."""


class Router:
    """Unix sockets, plus TCP addresses for peers on other nodes. Peers are addressed by name.

    Ranks and clients of this machine connect to the stream socket; ZeroMQ's own unix socket is for agents,
    forwards from other machines, and clients of another version.

    Args:
        context: ZeroMQ context.
        path: Path of the ZeroMQ socket, in a folder that only this user can enter.
        received: Called with a peer and each of its messages.
        drained: Called after each burst of a ROUTER; not after messages of a stream.
        most: Maximum number of messages queued for one peer; 0 for no limit, if peers are known to read.
    """

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        path: str,
        received: Callable[[bytes, bytes], None],
        drained: Callable[[], None],
        most: int = 0,
    ) -> None:
        self._context = context
        self._received = received
        self._drained = drained
        self._most = most
        self._sockets: dict[bytes, tuple[zmq.Socket[bytes], Drain]] = {}
        socket = self._make()
        socket.bind(f"ipc://{path}")
        os.chmod(path, 0o600)
        self.url = f"ipc://{path}"
        self._watch(LOCAL, socket)
        self._streams: dict[bytes, Stream] = {}
        self._numbers = itertools.count()
        self._listener: Listener | None = None
        try:
            self._listener = Listener(path + SUFFIX, self._connected)
        except OSError as error:  # peers of this machine fall back to ZeroMQ
            log.warning("no stream socket beside %s: %s", path, error)

    def open_tcp(self, addresses: Sequence[str], ports: Iterable[int], curve: Curve) -> tuple[str, ...]:
        """Also listen on TCP addresses, at one port; only holders of the world's keys can connect.

        Args:
            addresses: IP addresses of this node.
            ports: Ports to try, in order.
            curve: Keys of the world.

        Returns:
            The URLs.

        Raises:
            OSError: No port is free on all of them.
        """
        socket, port = tcp.listen(self._make, addresses, ports, curve)
        self._watch(REMOTE, socket)
        return tuple(f"tcp://{ipv6.host(address)}:{port}" for address in addresses)

    def send(self, peer: bytes, frames: list[bytes]) -> Sent:
        """Send to one peer. ZeroMQ reports that a peer is gone only if `most` is set.

        Args:
            peer: Name of the peer.
            frames: Frames of one message.

        Returns:
            "sent", "full" if its queue is full, or "gone".
        """
        if peer[:1] == STREAM:
            stream = self._streams.get(peer)
            if stream is None:
                return "gone"
            if self._most and stream.waiting > MOST_BYTES:
                return "full"
            try:
                stream.send(frames)
            except WireMismatch as error:  # too large; must not affect other peers
                log.error("a message to %r is dropped: %s", peer, error)
            return "sent"
        socket, drain = self._sockets[peer[:1]]
        try:
            socket.send_multipart([peer[1:], *frames], zmq.NOBLOCK)
        except zmq.Again:
            return "full"
        except zmq.ZMQError as error:
            if error.errno != zmq.EHOSTUNREACH:
                raise
            return "gone"
        finally:
            drain.sent()
        return "sent"

    def read_last(self, peer: bytes) -> None:
        """Read the last messages of a stream's peer whose process has ended, and close the stream.

        Its children may hold copies of its end of the stream, so end of file can't be relied on.
        """
        stream = self._streams.get(peer)
        if stream is not None:
            stream.read_all()
            stream.close()
            self._lost(peer)

    def close(self) -> None:
        """Stop reading; queued messages still leave."""
        if self._listener is not None:
            self._listener.close()
        until = time.monotonic() + LINGER_S
        for stream in list(self._streams.values()):
            stream.close(max(LEAST_LINGER_S, until - time.monotonic()))
        for socket, drain in self._sockets.values():
            drain.close()
            socket.close()

    def _make(self) -> zmq.Socket[bytes]:
        socket = self._context.socket(zmq.ROUTER)
        socket.sndhwm, socket.rcvhwm = self._most, 0
        socket.router_mandatory = self._most > 0
        socket.linger = 500
        socket.router_handover = True
        socket.maxmsgsize = chunks.SOCKET_LIMIT
        return socket

    def _watch(self, kind: bytes, socket: zmq.Socket[bytes]) -> None:
        def take(frames: list[bytes]) -> None:
            peer, *parts = frames
            for message in chunks.join(parts):
                self._take(kind + peer, message)

        self._sockets[kind] = socket, Drain(socket, take, BURST, self._drained)

    def _connected(self, connected: sockets.socket) -> None:
        peer = STREAM + str(next(self._numbers)).encode()

        def take(messages: list[bytes]) -> None:
            for message in messages:
                self._take(peer, message)

        self._streams[peer] = Stream(connected, take, lambda: self._lost(peer))

    def _lost(self, peer: bytes) -> None:
        self._streams.pop(peer, None)

    def _take(self, peer: bytes, frame: bytes) -> None:
        """Handle one message; one that fails must not cost those that follow it."""
        try:
            self._received(peer, frame)
        except WireMismatch as error:
            log.warning("dropped %s bytes: %s (%s)", len(frame), error.message, error.details.get("why"))
        except Exception as error:  # noqa: BLE001 # one message must not cost those that come after it
            supervision.here().fault("head.message", error)
