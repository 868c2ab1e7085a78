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
from msgspec.structs import replace

from dtrain_lab.backends.base import Backend, HeadAddress, Status
from dtrain_lab.errors import Conflict, DtrainError, NotFound, SignInNeeded, Unreachable
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.machine import supervision
from dtrain_lab.services.connection import endpoints, head_records
from dtrain_lab.services.connection.pending_cluster import ended_early, without_head
from dtrain_lab.services.connection.presence import ClusterClient, Presence, ended
from dtrain_lab.services.policy import backends
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster, Reason
from dtrain_lab.wire.codec import clock
from dtrain_lab.wire.processes.endpoints import Endpoints
from dtrain_lab.wire.processes.head_record import HeadRecord, SubmittedWorld
from dtrain_lab.wire.processes.submission import of_head

POLL_S = 0.3
"""Polling interval for files on a shared file system. The scheduler is polled far less often."""
STATUS_S = 3.0
PING_WITHIN_S = 5.0
OPEN_WITHIN_S = 3.0


class RemoteHeadPresence(Presence):
    """A head on another machine.

    Args:
        connection: The connection. Its record, written by clients, says how the world was started.
    """

    def __init__(self, connection: ClusterClient) -> None:
        super().__init__(connection, HeadAddress(""))
        self._connection: ClusterClient = connection
        assert connection.record.remote is not None
        self._remote: SubmittedWorld = connection.record.remote
        self._backend: Backend = backends.backend(self._remote.profile.backend)
        self._status = Status("pending")
        self._held: list[clients.AcquireLease] = []
        self._coming: supervision.BackgroundTask | None = None
        self._up = asyncio.Event()
        self._stopping = False
        self._monitored: Any = None
        self._since = time.monotonic()
        self._cut = False
        """The connection was lost and is not restored yet."""
        self._monitor: supervision.BackgroundTask | None = None

    async def open(self) -> None:
        """Start looking for the head; until it is found, `answer_for_head` answers requests."""
        self._coming = supervision.here().start_loop("client.reach", self._come_up)
        if self._remote.handle.endpoints is not None and self._remote.problem is None:
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
        raise Conflict(f"{self._record.name} is not ready: {self._cluster().summary.text}", "Wait for it.")

    async def forward(self, address: str, port: int) -> tuple[str, int]:
        """Return a local address and port that lead to a port of the head's node."""
        known = self._remote.handle.endpoints
        reached = await self._backend.reach(of_head(self._record), known, f"{address}:{port}")
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
        asked = 0.0
        while self._remote.problem is None:
            problem: DtrainError | None = None
            try:
                if await self._connect_if_listening():
                    return
            except DtrainError as error:
                self._disconnect()
                problem = error
            if time.monotonic() - asked > STATUS_S:
                asked = time.monotonic()
                try:
                    await self._poll_status()
                    if self._status.fate == "ended":
                        await self._ended()
                        return
                except DtrainError as error:
                    problem = problem or error
            if problem is not None:
                host = problem.details.get("host") if isinstance(problem, SignInNeeded) else None
                reason = Reason(problem.code, problem.message, problem.hint, host=host)
                self._status = Status("pending", reason)
            self._connection.notify(self._cluster())
            await asyncio.sleep(POLL_S)

    async def _connect_if_listening(self) -> bool:
        """Connect to the head if it listens; returns whether it answers."""
        found = self._remote.handle.endpoints or await self._written() or self._from_record()
        if found is None:
            return False
        self._save_endpoints(found)
        address = await self._backend.reach(of_head(self._record), found)
        self._connection.connect(address)
        self._watch_link()
        if not await self._reachable():
            self._disconnect()
            return False
        await self._arrived()
        return True

    async def _reachable(self) -> bool:
        asked = time.time()
        try:
            said = await self._connection.ask_head(clients.Clock(), PING_WITHIN_S)
        except Unreachable:
            return False
        self.ahead = clock.ahead(asked, said, time.time())
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
        waiting = zmq.asyncio.Socket.shadow(monitor)
        while True:
            if not self._cut:  # otherwise the supervisor restarted this task
                await waiting.recv_multipart()
            self._cut = True
            while not self._connection.closed:
                try:
                    await self._poll_status()
                except DtrainError:  # the network is gone; the world keeps running
                    self._status = Status("running")
                if self._stopping or self._status.fate == "ended":
                    self._over()
                    return
                try:
                    # a forward that has to be rebuilt gets the same local address
                    await self._backend.reach(of_head(self._record), self._remote.handle.endpoints)
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
            self._stopping = self._stopping or isinstance(self._connection.pending(message.id), clients.Stop)
        return message

    async def _poll_status(self) -> None:
        self._status = await self._backend.status(of_head(self._record))

    async def _written(self) -> Endpoints | None:
        """Read the endpoints file in the head's folder; None if it does not exist yet."""
        place = self._backend.files(of_head(self._record))[0]
        return await endpoints.read(place.transport, self._remote.handle.directory, self._record.name)

    def _from_record(self) -> Endpoints | None:
        """Endpoints in the record: another client has read the file first, and the head has removed it."""
        record = head_records.read(self._record.id)
        return record.remote.handle.endpoints if record is not None and record.remote is not None else None

    def _save_endpoints(self, found: Endpoints) -> None:
        """Save the endpoints in the record: the head removes their file once all agents have joined."""
        if self._remote.handle.endpoints is None:
            self._remote = replace(self._remote, handle=replace(self._remote.handle, endpoints=found))
            self._note()

    async def _ended(self) -> None:
        if self._remote.handle.endpoints is not None:  # it ran, and ended while no client was connected
            self._over()
        else:
            await self._ended_early()

    async def _ended_early(self) -> None:
        reason = self._status.reason
        text = await self._backend.log(of_head(self._record), job_files.LAUNCHER_LOG, 0)
        self._remote = replace(self._remote, problem=ended_early(reason, text.decode("utf-8", "replace")))
        self._note()
        self._connection.notify(self._cluster())

    async def _cancel(self) -> None:
        if self._remote.problem is None:
            with contextlib.suppress(NotFound):
                await self._backend.cancel(of_head(self._record))
        self._over()

    def gone(self) -> Unreachable:
        """Return the error for requests after the cluster has ended."""
        reason = self._status.reason
        if reason is None or not reason.final:
            return ended(self._record.name)
        return Unreachable(f"{self._record.name} has ended. {reason.message}", reason.hint, code="ended")

    def _over(self) -> None:
        head_records.forget(self._record.id)
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

    def _note(self) -> None:
        self._connection.record = replace(self._record, remote=self._remote)
        head_records.write(self._record)

    @property
    def _record(self) -> HeadRecord:
        return self._connection.record

    def _cluster(self) -> Cluster:
        return without_head(self._record, self._remote, self._status, time.monotonic() - self._since)
