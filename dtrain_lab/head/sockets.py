"""ROUTER sockets in an asyncio loop, drained in bursts.

The head passes on every line that every rank prints. A future per message (zmq.asyncio) costs more than
the message; here one wake-up takes all that is there, and what goes out leaves once at its end.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import zmq

BURST = 512


class Router:
    """One bound socket; every peer is known by its identity.

    Args:
        context: ZeroMQ's.
        path: of the unix socket, in a folder that only this user can enter.
        received: called with a peer and each frame of its messages.
        drained: called after each burst.
    """

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        path: str,
        received: Callable[[bytes, bytes], None],
        drained: Callable[[], None],
    ) -> None:
        self._received = received
        self._drained = drained
        self._socket = context.socket(zmq.ROUTER)
        self._socket.sndhwm = self._socket.rcvhwm = 0
        self._socket.linger = 500
        self._socket.router_handover = True
        self._socket.bind(f"ipc://{path}")
        os.chmod(path, 0o600)
        self.url = f"ipc://{path}"
        self._loop = asyncio.get_running_loop()
        self._descriptor = int(self._socket.fd)
        self._loop.add_reader(self._descriptor, self._drain)
        self._again: asyncio.Handle | None = None

    def send(self, peer: bytes, frames: list[bytes]) -> None:
        """Send to one peer; a peer that is gone is forgotten by ZeroMQ itself."""
        self._socket.send_multipart([peer, *frames])
        # the descriptor is edge-triggered: a send can swallow the wake-up of what arrived meanwhile
        if self._again is None:
            self._again = self._loop.call_soon(self._drain)

    def close(self) -> None:
        """Stop reading; what was sent still leaves."""
        self._loop.remove_reader(self._descriptor)
        if self._again is not None:
            self._again.cancel()
        self._socket.close()

    def _drain(self) -> None:
        self._again = None
        if self._socket.closed:
            return
        for _ in range(BURST):
            try:
                peer, *frames = self._socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                break
            for frame in frames:
                self._received(peer, frame)
        else:
            self._again = self._loop.call_soon(self._drain)
        self._drained()
