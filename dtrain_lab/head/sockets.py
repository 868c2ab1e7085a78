"""ROUTER sockets in an asyncio loop, drained in bursts.

The head passes on every line that every rank prints. A future per message (zmq.asyncio) costs more than
the message; here one wake-up takes all that is there, and what goes out leaves once at its end.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import zmq

from dtrain_lab.machine import ipv6
from dtrain_lab.machine.curve import Curve

BURST = 512
Sent = Literal["sent", "full", "gone"]
LOCAL, REMOTE = b"l", b"r"
"""First byte of a peer's name: which socket leads to it."""


class Router:
    """A unix socket, and TCP addresses where there are peers on other nodes. Peers are known by name.

    Args:
        context: ZeroMQ's.
        path: of the unix socket, in a folder that only this user can enter.
        received: called with a peer and each frame of its messages.
        drained: called after each burst.
        most: messages that wait for one peer; 0 for no limit, where peers are known to read.
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
        self._loop = asyncio.get_running_loop()
        self._sockets: dict[bytes, zmq.Socket[bytes]] = {}
        self._again: asyncio.Handle | None = None
        socket = self._make()
        socket.bind(f"ipc://{path}")
        os.chmod(path, 0o600)
        self.url = f"ipc://{path}"
        self._watch(LOCAL, socket)

    def open_tcp(self, addresses: Sequence[str], ports: Iterable[int], curve: Curve) -> tuple[str, ...]:
        """Listen on addresses, too, at one port; only holders of the world's keys get in.

        Returns:
            The URLs.

        Raises:
            OSError: no port is free on all of them.
        """
        error: Exception | None = None
        for port in ports:
            socket = self._make()
            curve.serve(socket)
            try:
                for address in addresses:
                    socket.ipv6 = ":" in address
                    socket.bind(f"tcp://{ipv6.host(address)}:{port}")
            except zmq.ZMQError as failure:
                socket.close()
                error = failure
                continue
            self._watch(REMOTE, socket)
            return tuple(f"tcp://{ipv6.host(address)}:{port}" for address in addresses)
        raise OSError(f"no port is free: {error}")

    def send(self, peer: bytes, frames: list[bytes]) -> Sent:
        """Send to one peer. ZeroMQ forgets one that is gone, and says so only where `most` is set."""
        try:
            self._sockets[peer[:1]].send_multipart([peer[1:], *frames], zmq.NOBLOCK)
        except zmq.Again:
            return "full"
        except zmq.ZMQError as error:
            if error.errno != zmq.EHOSTUNREACH:
                raise
            return "gone"
        finally:
            # the descriptor is edge-triggered: a send can swallow the wake-up of what arrived meanwhile
            if self._again is None:
                self._again = self._loop.call_soon(self._drain)
        return "sent"

    def close(self) -> None:
        """Stop reading; what was sent still leaves."""
        if self._again is not None:
            self._again.cancel()
        for socket in self._sockets.values():
            self._loop.remove_reader(int(socket.fd))
            socket.close()

    def _make(self) -> zmq.Socket[bytes]:
        socket = self._context.socket(zmq.ROUTER)
        socket.sndhwm, socket.rcvhwm = self._most, 0
        socket.router_mandatory = self._most > 0
        socket.linger = 500
        socket.router_handover = True
        return socket

    def _watch(self, kind: bytes, socket: zmq.Socket[bytes]) -> None:
        self._sockets[kind] = socket
        self._loop.add_reader(int(socket.fd), self._drain)

    def _drain(self) -> None:
        self._again = None
        full = False
        for kind, socket in self._sockets.items():
            if socket.closed:
                return
            for _ in range(BURST):
                try:
                    peer, *frames = socket.recv_multipart(zmq.NOBLOCK)
                except zmq.Again:
                    break
                for frame in frames:
                    self._received(kind + peer, frame)
            else:
                full = True
        if full:
            self._again = self._loop.call_soon(self._drain)
        self._drained()
