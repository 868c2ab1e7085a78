"""A cluster on other machines, as its record and its back-end describe it while its head does not answer."""

from __future__ import annotations

import asyncio
import time

from msgspec.structs import replace

from dtrain_lab.backends.base import UNSURE, Backend, Status
from dtrain_lab.errors import NotFound, Unreachable
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.services.connection import endpoints, head_records
from dtrain_lab.services.connection.pending_cluster import NOT_SUBMITTED, ended_early
from dtrain_lab.services.connection.presence import ClusterClient
from dtrain_lab.services.policy import backends
from dtrain_lab.wire.processes.endpoints import Endpoints
from dtrain_lab.wire.processes.head_record import HeadRecord, SubmittedWorld
from dtrain_lab.wire.processes.submission import ClusterRecord, of_head

SUBMITTED_WITHIN_S = 240.0
"""Time in which a submission is accepted or refused, also if the client that began it is gone: writing
its files, submitting it and looking for it take 60 s each at most."""


class RemoteCluster:
    """A cluster on other machines.

    Args:
        connection: The connection. Its record, written by clients, says how the cluster was started.
    """

    def __init__(self, connection: ClusterClient) -> None:
        assert connection.record.remote is not None
        self._connection = connection
        self.remote: SubmittedWorld = connection.record.remote
        self.backend: Backend = backends.backend(self.remote.profile.backend)
        self.status = Status("pending")
        self.stopping = False
        """Whether a client has stopped it."""
        self._sought_at: float | None = None

    @property
    def record(self) -> HeadRecord:
        """Its record, as this process knows it: the connection's may be an older one."""
        return replace(self._connection.record, remote=self.remote)

    @property
    def submission(self) -> ClusterRecord:
        """The cluster, as its back-end knows it."""
        return of_head(self.record)

    @property
    def endpoints(self) -> Endpoints | None:
        """Endpoints of its head, once they are known."""
        return self.remote.handle.endpoints if self.remote.handle is not None else None

    async def is_accepted(self) -> bool:
        """Return whether the back-end has accepted it; looks for it if the record does not say so.

        A cluster that was not accepted in time has a problem from then on, and can't start any more.

        Raises:
            DtrainError: The back-end can't be asked.
        """
        if self.remote.handle is not None or self.stopping:
            return self.remote.handle is not None
        known = await asyncio.to_thread(head_records.read, self._connection.id)
        if known is None or known.remote is None:  # refused, or stopped by another client
            self.status = Status("ended")
            return False
        # the client that submits it, or another one, has written it meanwhile
        if known.remote != self.remote:
            self.remote, self._connection.record = known.remote, known
            return known.remote.handle is not None
        now = time.monotonic()
        if self._sought_at is not None and now - self._sought_at < self.backend.poll_floor_s():
            return False
        self._sought_at = now
        late = time.time() - known.created_at > SUBMITTED_WITHIN_S  # before the back-end is asked
        if await self._find():
            return True
        if late:
            await self._withdraw()
            self._note(replace(self.remote, problem=NOT_SUBMITTED))
        return False

    async def poll_status(self) -> None:
        """Ask the back-end for its status.

        Raises:
            DtrainError: The back-end can't be asked.
        """
        self.status = await self.backend.status(self.submission)

    async def written_endpoints(self) -> Endpoints | None:
        """Read the endpoints that its head has written; None if there are none yet."""
        place = self.backend.files(self.submission)[0]
        record = self._connection.record
        return await endpoints.read(place.transport, record.directory, record.name) or self._from_record()

    def _from_record(self) -> Endpoints | None:
        """Endpoints in the record: another client has read the file first, and the head has removed it."""
        record = head_records.read(self._connection.id)
        known = record.remote.handle if record is not None and record.remote is not None else None
        return known.endpoints if known is not None else None

    def save_endpoints(self, found: Endpoints) -> None:
        """Save the endpoints in the record: the head removes their file once all agents have joined."""
        handle = self.remote.handle
        if handle is not None and handle.endpoints is None:
            self._note(replace(self.remote, handle=replace(handle, endpoints=found)))

    async def note_early_end(self) -> None:
        """Save in the record why it ended before its head listened."""
        text = await self.backend.log(self.submission, job_files.LAUNCHER_LOG, 0)
        problem = ended_early(self.status.reason, text.decode("utf-8", "replace"))
        self._note(replace(self.remote, problem=problem))

    async def cancel(self) -> None:
        """Cancel it, on behalf of a client.

        Raises:
            DtrainError: It can't be cancelled, or it is unknown whether it was.
        """
        if self.remote.handle is None and not await self._find():
            await self._withdraw()
            if not await self._find():
                self._must_share_folder()
                self.stopping, self.status = True, Status("ended")
                return
        await cancel(self.backend, self.submission)
        self.stopping = True
        if self.backend.traits.schedules:  # it ends the cluster for certain, at some time
            self.status = Status("ended")

    def forget(self) -> None:
        """Remove its record: it has ended."""
        head_records.forget(self._connection.id)

    async def _find(self) -> bool:
        """Look for it by its id, and save what is found."""
        handle = await self.backend.find(self.submission)
        if handle is None:
            return False
        if head_records.read(self._connection.id) is None:  # another client has stopped it meanwhile
            self.status = Status("ended")
            return False
        self._note(replace(self.remote, handle=handle))
        return True

    async def _withdraw(self) -> None:
        """Remove its folder, without which its script ends at once, should the back-end still accept it."""
        if self.backend.traits.shares_folder:
            await self.backend.files(self.submission)[0].transport.remove(self._connection.record.directory)

    def _must_share_folder(self) -> None:
        """Check that a cluster which was not found can't start any more.

        Raises:
            Unreachable: It may still start.
        """
        age_s = time.time() - self._connection.record.created_at
        if not self.backend.traits.shares_folder and age_s < SUBMITTED_WITHIN_S:
            text = f"{self._connection.record.name} is still being submitted."
            raise Unreachable(text, "Stop it again in a minute.", code=UNSURE)

    def _note(self, remote: SubmittedWorld) -> None:
        self.remote = remote
        record = replace(self._connection.record, remote=remote)
        if remote.handle is not None:
            record = replace(record, directory=remote.handle.directory)
        self._connection.record = record
        head_records.write(record)


async def cancel(backend: Backend, cluster: ClusterRecord) -> None:
    """Cancel a cluster whose head does not answer.

    Args:
        backend: Its back-end.
        cluster: The cluster.

    Raises:
        DtrainError: It is unknown whether it ends.
    """
    try:
        await backend.cancel(cluster)
    except NotFound as error:
        # without a scheduler here to ask, that is an error; else the scheduler no longer knows the cluster
        if error.code == "no_command":
            raise
