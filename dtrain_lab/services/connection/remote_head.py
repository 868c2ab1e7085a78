"""Presence of a cluster's head on another machine: while it is queued, and across lost connections.

Until the head listens, this class answers requests in its place: with the scheduler's state, and by
cancelling.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from functools import partial
from typing import Any

import zmq
import zmq.asyncio

from dtrain_lab.backends.base import HeadAddress, Status
from dtrain_lab.errors import Conflict, DtrainError, SignInNeeded, Unreachable
from dtrain_lab.machine import supervision
from dtrain_lab.services.connection.pending_cluster import without_head
from dtrain_lab.services.connection.presence import ClusterClient, Presence, ended
from dtrain_lab.services.connection.remote_cluster import RemoteCluster
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster, Reason
from dtrain_lab.wire.codec import clock

POLL_S = 0.3
"""Polling interval for files on a shared file system. The scheduler is polled far less often."""
STATUS_S = 3.0
STOPPED_S = 0.5
"""Polling interval for the end of a cluster that was stopped."""
PING_WITHIN_S = 5.0
OPEN_WITHIN_S = 3.0
"""Time within which a head that listens answers; afterwards it counts as out of reach."""


class RemoteHeadPresence(Presence):
    """A head on another machine.

    Args:
        connection: The connection. Its record, written by clients, says how the world was started.
    """

    def __init__(self, connection: ClusterClient) -> None:
        super().__init__(connection, HeadAddress(""))
        self._connection: ClusterClient = connection
        self._remote = RemoteCluster(connection)
        self._held: list[clients.AcquireLease] = []
        self._coming: supervision.BackgroundTask | None = None
        self._up = asyncio.Event()
        self._monitored: Any = None
        self._since = time.monotonic()
        self._sought_since: float | None = None
        """Monotonic time since which it is known where the head listens; None if it is not."""
        self._asked_at = 0.0
        """Monotonic time at which the back-end was last asked for the status, while the head is sought."""
        self._cut = False
        """The connection was lost and is not restored yet."""
        self._monitor: supervision.BackgroundTask | None = None

    async def open(self) -> None:
        """Start looking for the head; until it is found, `answer_for_head` answers requests."""
        self._coming = supervision.here().start_loop("client.reach", self._come_up)
        if self._remote.endpoints is not None and self._problem is None:
            self._sought_since = time.monotonic()
            # a network may be slow or gone: the search continues
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(OPEN_WITHIN_S):
                    await self._up.wait()

    @property
    def up(self) -> bool:
        """Whether the head itself answers, as far as is known."""
        return self._up.is_set()

    async def answer_for_head(self, body: clients.AnyBody) -> Any:
        """Answer a request in place of a head that does not listen yet.

        Raises:
            Conflict: Only the head could answer.
        """
        match body:
            case clients.Info():
                return self._cluster()
            case clients.AcquireLease():
                self._held.append(body)
                return self._cluster()
            case clients.Stop():
                await self._cancel()
                return None
            case clients.Watch() | clients.Release():
                return None
        name, text = self._connection.record.name, self._cluster().summary.text
        raise Conflict(f"{name} is not ready: {text}", "Wait for it.")

    async def forward(self, address: str, port: int) -> tuple[str, int]:
        """Return a local address and port that lead to a port of the head's node."""
        remote = self._remote
        reached = await remote.backend.reach(remote.submission, remote.endpoints, f"{address}:{port}")
        mine, _, number = reached.url.removeprefix("tcp://").rpartition(":")
        return mine, int(number)

    def close(self) -> None:
        """Stop looking for the head."""
        for task in (self._coming, self._monitor):
            if task is not None and task.task is not asyncio.current_task():
                task.cancel()
        self._watch_no_link()

    async def _come_up(self) -> None:
        if self._up.is_set():  # the supervisor restarted this task
            return
        self._disconnect()
        remote, self._asked_at = self._remote, 0.0
        while self._problem is None:
            problem: DtrainError | None = None
            try:
                if await remote.is_accepted() and await self._connect_if_listening():
                    return
            except DtrainError as error:
                self._disconnect()
                problem = error
            try:
                if await self._has_ended():
                    return
            except DtrainError as error:
                problem = problem or error
            if problem is not None:
                host = problem.details.get("host") if isinstance(problem, SignInNeeded) else None
                reason = Reason(problem.code, problem.message, problem.hint, host=host)
                remote.status = Status("pending", reason)
            self._connection.notify(self._cluster())
            await asyncio.sleep(POLL_S)

    async def _has_ended(self) -> bool:
        """Return whether the cluster has ended, as the back-end says from time to time."""
        remote = self._remote
        every_s = STOPPED_S if remote.stopping else STATUS_S
        if remote.remote.handle is not None and time.monotonic() - self._asked_at > every_s:
            self._asked_at = time.monotonic()
            await remote.poll_status()
        if remote.status.fate != "ended":
            return False
        await self._ended()
        return True

    async def _connect_if_listening(self) -> bool:
        """Connect to the head if it listens; returns whether it answers."""
        remote = self._remote
        found = remote.endpoints or await remote.written_endpoints()
        if found is None:
            return False
        remote.save_endpoints(found)
        self._sought_since = self._sought_since or time.monotonic()
        address = await remote.backend.reach(remote.submission, found)
        self._connection.connect(address)
        self._watch_link()
        if not await self._reachable():
            self._disconnect()
            return False
        await self._arrived()
        return True

    async def _reachable(self) -> bool:
        asked_at = time.time()
        try:
            head_time = await self._connection.ask_head(clients.Clock(), PING_WITHIN_S)
        except Unreachable:
            return False
        self.ahead = clock.ahead(asked_at, head_time, time.time())
        return True

    async def _arrived(self) -> None:
        while self._held:
            hold = self._held.pop(0)
            try:
                await self._connection.ask_head(hold)
            except Unreachable:
                self._held.insert(0, hold)
                raise
        self._up.set()
        with contextlib.suppress(DtrainError):  # a watch is renewed anyway
            await self._connection.watch_again()

    def _watch_link(self) -> None:
        self._monitored = self._connection.socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        self._monitor = supervision.here().start_loop(
            "client.link", partial(self._link_lost, self._monitored)
        )

    async def _link_lost(self, monitor: Any) -> None:
        """Restore a lost connection, unless the world has ended."""
        waiting, remote = zmq.asyncio.Socket.shadow(monitor), self._remote
        while True:
            if not self._cut:  # otherwise the supervisor restarted this task
                await waiting.recv_multipart()
            self._cut = True
            while not self._connection.closed:
                try:
                    await remote.poll_status()
                except DtrainError:  # the network is gone; the world keeps running
                    remote.status = Status("running")
                if remote.stopping or remote.status.fate == "ended":
                    self._over()
                    return
                try:
                    # a forward that has to be rebuilt gets the same local address
                    await remote.backend.reach(remote.submission, remote.endpoints)
                except DtrainError:
                    await asyncio.sleep(POLL_S)
                    continue
                if await self._reachable():
                    await self._catch_up()
                    self._cut = False
                    break

    async def _catch_up(self) -> None:
        """Request again what the head sent while the network was gone."""
        while self._monitored.poll(0):  # discard the events of failed attempts
            self._monitored.recv_multipart()
        self._connection.resend_or_fail()
        await self._connection.catch_up()

    def received(self, message: clients.ToClient) -> clients.ToClient:
        """Convert times in a message to the local clock."""
        if isinstance(message, clients.Changed):
            message = clients.Changed(clock.by_ours(message.cluster, self.ahead))
        elif isinstance(message, clients.Answer) and message.error is None:
            stops = isinstance(self._connection.pending(message.id), clients.Stop)
            self._remote.stopping = self._remote.stopping or stops
        return message

    async def _ended(self) -> None:
        remote = self._remote
        if remote.stopping or remote.endpoints is not None or remote.remote.handle is None:
            # stopped; or it ran, and ended while no client was connected; or it was refused
            self._over()
        else:
            await remote.note_early_end()
            self._connection.notify(self._cluster())

    async def _cancel(self) -> None:
        """Cancel the cluster; it is forgotten once its back-end says that it has ended."""
        if self._problem is not None:
            self._over()
            return
        await self._remote.cancel()
        if self._remote.status.fate == "ended":
            self._over()
        self._asked_at = 0.0

    def gone(self) -> Unreachable:
        """Return the error for requests after the cluster has ended."""
        reason, name = self._remote.status.reason, self._connection.record.name
        if reason is None or not reason.final:
            return ended(name)
        return Unreachable(f"{name} has ended. {reason.message}", reason.hint, code="ended")

    def _over(self) -> None:
        self._remote.forget()
        self._connection.has_ended()
        asyncio.get_running_loop().call_soon(self._connection.close)

    def _disconnect(self) -> None:
        if self._monitor is not None:
            self._monitor.cancel()
        self._watch_no_link()
        self._connection.disconnect()

    def _watch_no_link(self) -> None:
        if self._monitored is not None and self._connection.socket is not None:
            self._connection.socket.disable_monitor()
        self._monitored = None

    @property
    def _problem(self) -> tuple[str, str] | None:
        return self._remote.remote.problem

    def _cluster(self) -> Cluster:
        remote = self._remote
        now, sought = time.monotonic(), self._sought_since
        lost = self._cut or (sought is not None and now - sought >= OPEN_WITHIN_S)
        return without_head(remote.record, remote.remote, remote.status, now - self._since, lost=lost)
