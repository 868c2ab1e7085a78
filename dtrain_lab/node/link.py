"""The agent's connection to its head; messages sent before it connects are queued."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import zmq

from dtrain_lab.errors import WireMismatch
from dtrain_lab.machine import supervision
from dtrain_lab.machine.facts import interfaces
from dtrain_lab.machine.net import ipv6
from dtrain_lab.machine.net.curve import introduce
from dtrain_lab.machine.net.tcp import first_reachable
from dtrain_lab.machine.net.zmq_drain import Drain
from dtrain_lab.node.network_probe import still_there
from dtrain_lab.wire import links
from dtrain_lab.wire.codec import chunks
from dtrain_lab.wire.processes.endpoints import Endpoints, Keys

log = logging.getLogger("dtrain_lab.node")
LINGER_MS = 500
SILENT_MS = 30_000
"""Milliseconds of unacknowledged sending after which a link counts as broken."""


async def head_url(endpoints: Endpoints) -> str | None:
    """Find a head's URL: its unix socket on this node, else the first address that accepts connections."""
    path = Path(endpoints.directory) / "link"
    if endpoints.host == socket.gethostname() and path.exists():
        return f"ipc://{path}"
    mine = {f"tcp://{ipv6.host(i.address)}" for i in interfaces()}
    return await first_reachable([url for url in endpoints.link if url.rpartition(":")[0] not in mine])


class Link:
    """The link to a head, which can be reconnected.

    Args:
        name: The agent's name for the head; a counter is added at each reconnect.
        obey: Called with each message.
    """

    def __init__(self, name: str, obey: Callable[[links.Message], None]) -> None:
        self._name = f"{name}-{os.getpid()}"
        self._joined = 0
        """Number of connects, part of the routing id: a closing socket must not be taken for the new one."""
        self._obey = obey
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket: Any = None
        self._drain: Drain | None = None
        self._monitor: tuple[Any, Drain] | None = None
        self._waiting: list[links.Message] = []
        self._broken = asyncio.Event()
        self._url = ""
        self.connected = asyncio.Event()
        """Set once a head's address is known; queued messages are sent as soon as it answers there."""

    def connect(self, url: str, keys: Keys | None, hello: links.Message) -> None:
        """Connect, or reconnect to another head; sends the hello before all queued messages.

        Args:
            url: URL of the head's link.
            keys: CURVE keys, for a link over TCP.
            hello: The agent's first message.
        """
        self._disconnect(linger_ms=0)  # messages to the old head are dropped
        self._joined += 1
        dealer = self._context.socket(zmq.DEALER)
        dealer.sndhwm = dealer.rcvhwm = 0
        dealer.routing_id = f"{self._name}-{self._joined}".encode()
        if keys is not None:
            introduce(dealer, url, keys)
            dealer.setsockopt(zmq.TCP_MAXRT, SILENT_MS)
            # a head that is being killed may still accept: then ZeroMQ's next attempt reveals it
            events = zmq.EVENT_DISCONNECTED | zmq.EVENT_CONNECT_RETRIED
            monitor = dealer.get_monitor_socket(events)
            self._monitor = monitor, Drain(monitor, lambda _: self._broken.set())
        dealer.connect(url)
        self._socket, self._url = dealer, url
        self._drain = Drain(dealer, self._take)
        self.connected.set()
        waiting, self._waiting = self._waiting, []
        for message in (hello, *waiting):
            self.send(message)

    def send(self, message: links.Message) -> None:
        """Send a message to the head, or queue it until there is a connection."""
        if self._socket is None:
            self._waiting.append(message)
        elif not self._socket.closed:
            self._socket.send_multipart(chunks.split(links.encode(message)))
            assert self._drain is not None
            self._drain.sent()

    async def head_gone(self) -> None:
        """Wait until a head over TCP has ended; a connection that broke for network reasons is waited out."""
        while True:
            await self._broken.wait()
            self._broken.clear()
            if not await still_there(self._url, SILENT_MS / 1000):
                return

    def close(self) -> None:
        """Close the link; queued messages still leave."""
        self._disconnect(LINGER_MS)
        self._context.term()

    def _disconnect(self, linger_ms: int) -> None:
        if self._socket is None or self._socket.closed:
            return
        if self._monitor is not None:
            monitor, drain = self._monitor
            drain.close()
            self._socket.disable_monitor()
            monitor.close(linger=0)
            self._monitor = None
        assert self._drain is not None
        self._drain.close()
        self._socket.close(linger_ms)

    def _take(self, frames: list[bytes]) -> None:
        for frame in frames:
            try:
                self._obey(links.decode_to_agent(frame))
            except WireMismatch as error:
                log.warning("dropped %s bytes: %s (%s)", len(frame), error.message, error.details.get("why"))
            except Exception as error:  # noqa: BLE001 # one order must not cost those that come after it
                supervision.here().fault("node.order", error)
