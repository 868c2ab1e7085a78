"""Presence of a head: how a connection finds it and detects its end; for jobs and for this machine."""

from __future__ import annotations

import asyncio
import os
from typing import Any, Protocol

from dtrain_lab.backends.base import HeadAddress
from dtrain_lab.errors import Unreachable
from dtrain_lab.machine import supervision
from dtrain_lab.services.connection import head_records
from dtrain_lab.text import cluster_endings
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.endings import Ending
from dtrain_lab.wire.processes.head_record import HeadRecord


class Client(Protocol):
    """The part of `connection.Connection` that a presence uses."""

    id: str
    name: str
    directory: str
    closed: bool

    @property
    def socket(self) -> Any: ...
    def connect(self, address: HeadAddress, *, stream: bool = False) -> None: ...
    def disconnect(self) -> None: ...
    def close(self) -> None: ...
    def has_ended(self) -> None: ...
    def notify(self, cluster: Cluster) -> None: ...
    def pending(self, number: int) -> clients.AnyBody | None: ...
    def resend_or_fail(self) -> None: ...
    async def ask_head(self, body: clients.AnyBody, within_s: float | None = 30.0) -> Any: ...
    async def watch_again(self) -> None: ...
    async def catch_up(self) -> None: ...


class ClusterClient(Client, Protocol):
    """The part of `cluster_connection.ClusterConnection` that the presence of a cluster's head uses."""

    record: HeadRecord


class Presence:
    """Presence of a head whose address is known: a job's. Its end shows only in requests that time out.

    Args:
        connection: The connection to the head.
        address: Address of the head.
    """

    ahead = 0.0
    """Seconds by which the clock of the head's machine is ahead of the local clock."""
    why = ""
    """What is said of a job whose head has ended before it."""
    sees_clients = False
    """Whether the head sees the processes of this machine, and so notices their end."""

    def __init__(self, connection: Client, address: HeadAddress) -> None:
        self._connection = connection
        self._address = address

    @property
    def up(self) -> bool:
        """Whether the head itself answers."""
        return True

    async def open(self) -> None:
        """Connect, or start connecting in the background."""
        self._connection.connect(self._address)

    async def answer_for_head(self, body: clients.AnyBody) -> Any:
        """Answer a request in place of a head that is not up.

        Raises:
            DtrainError: The head has ended, as `gone` says.
        """
        raise self.gone()

    async def forward(self, address: str, port: int) -> tuple[str, int]:
        """Return a local address and port for a port of the head's node; on this machine, the same ones."""
        return address, port

    def received(self, message: clients.ToClient) -> clients.ToClient:
        """Called with each message; returns the message to pass on."""
        return message

    def gone(self) -> Unreachable:
        """Return the error for requests after the head has ended."""
        return Unreachable(self.why or f"{self._connection.name} has ended.", "", code="ended")

    def close(self) -> None:
        """Called when the connection closes."""


class LocalHead(Presence):
    """Presence of a cluster's head on this machine: a pidfd reports the end of its process."""

    sees_clients = True

    def __init__(self, connection: ClusterClient) -> None:
        super().__init__(connection, HeadAddress(f"ipc://{connection.record.socket}"))
        self._pid = connection.record.pid
        self._death: int | None = None

    async def open(self) -> None:
        """Connect.

        Raises:
            Unreachable: The head's process is gone.
        """
        try:
            self._death = os.pidfd_open(self._pid)
        except ProcessLookupError:
            raise self.gone() from None
        asyncio.get_running_loop().add_reader(self._death, self._died)
        self._connection.connect(self._address, stream=True)

    def gone(self) -> Unreachable:
        """Return the error for requests after the head has ended."""
        return ended(self._connection.name, head_records.ending_of(self._connection.id))

    def close(self) -> None:
        """Stop watching the head's process."""
        if self._death is not None:
            asyncio.get_running_loop().remove_reader(self._death)
            os.close(self._death)
            self._death = None

    def _died(self) -> None:
        loop = asyncio.get_running_loop()
        if self._death is not None:
            loop.remove_reader(self._death)
        self._connection.has_ended()
        cleaned = asyncio.to_thread(
            head_records.clean_up_killed, self._connection.id
        )  # its journal may be large
        supervision.here().once("client.record", cleaned)
        # the head's last messages may still be in the socket
        loop.call_later(0.05, self._connection.close)


def ended(name: str, ending: Ending | None = None) -> Unreachable:
    """Return the error for a cluster whose head is gone.

    Args:
        name: Name of the cluster.
        ending: How it has ended; None if that is not known.
    """
    killed = ending is not None and ending.by == "killed"
    how = cluster_endings.how(ending) if killed else "has ended"
    return Unreachable(f"{name} {how}.", "Start a cluster: %distributed start", code="ended")
