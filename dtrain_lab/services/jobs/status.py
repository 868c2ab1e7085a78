"""State of jobs, observed each time (`observation`); no process keeps it.

A job whose back-end can't be asked is shown as last seen, with the reason. The state *lost* is a guess, so
lost jobs are read again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial

from msgspec.structs import replace

from dtrain_lab.backends.hosts.local_transport import LocalTransport
from dtrain_lab.errors import Conflict, DtrainError
from dtrain_lab.jobs.judgement import NOT_ASKED, unknown
from dtrain_lab.jobs.state import job
from dtrain_lab.services.index.async_index import AsyncJobIndex
from dtrain_lab.services.jobs.ending import JobEnder
from dtrain_lab.services.jobs.observation import JobObserver
from dtrain_lab.services.jobs.records import JobRecords
from dtrain_lab.services.policy import backends
from dtrain_lab.wire.cluster import Reason
from dtrain_lab.wire.jobs.folder import FolderState
from dtrain_lab.wire.jobs.job import Job, JobRecord
from dtrain_lab.wire.kinds import JOB_ENDED

FAR_S = 3.0
"""Minimum interval between two reads of a job's state if its folder is on another machine."""
LOOK_WITHIN_S = 5.0
"""Timeout after which a job is shown as last seen; the read continues in the background."""
LOST_EVERY_S = 30.0
"""Interval at which lost jobs are read again while jobs are listed."""
log = logging.getLogger(__name__)


class JobStates:
    """Reads the state of jobs.

    Args:
        index: Index of jobs.
        records: Their records.
        ender: Ends those that run although they were cancelled.
    """

    def __init__(self, index: AsyncJobIndex, records: JobRecords, ender: JobEnder) -> None:
        self._index, self._records = index, records
        self._observer = JobObserver(records, ender)
        self._looked: dict[str, tuple[float, Job]] = {}
        self._looking: dict[str, tuple[JobRecord, asyncio.Task[Job]]] = {}
        self._silent: dict[str, Reason] = {}
        """Job whose last read took longer than `LOOK_WITHIN_S`, as its host does not answer → why."""
        self._checked_at: dict[str, float] = {}
        """Job → monotonic time at which it was last read as a lost job for a list."""

    async def read(self, record: JobRecord, *, fresh: bool = False) -> Job:
        """Read a job's state from its folder and its back-end.

        Args:
            record: Record of the job.
            fresh: Read it even if it was read a moment ago.

        Raises:
            DtrainError: The job's folder can't be read.
        """
        first = backends.backend(record.plan.backend).files(record)[0]
        far = not isinstance(first.transport, LocalTransport)
        known = self._looked.get(record.id)
        if far and not fresh and known is not None and time.monotonic() - known[0] < FAR_S:
            return known[1]
        record, made = await self._observer.observe(record)
        self._looked[record.id] = time.monotonic(), made
        await self._note(record, made)
        if made.state in JOB_ENDED and record.parent is not None:
            await self._read_parent(record, made, record.parent)
        return made

    async def _read_parent(self, record: JobRecord, made: Job, parent: str) -> None:
        """Read the job that one has continued, if it would be resumed from another step now.

        Args:
            record: Record of the job that has continued it, which has ended.
            made: The state of that job.
            parent: Id of the job that it has continued.
        """
        known = await self._index.find(parent)
        before, seen = known if known is not None else (None, None)
        if before is None or seen is None:
            return
        if before.checkpoints == record.checkpoints and seen.checkpoint_step != made.checkpoint_step:
            try:
                await self.read(before, fresh=True)
            except DtrainError as error:  # it is shown as it was
                log.info("job %s can't be looked at: %s", parent, error)

    async def fresh(self, name: str) -> tuple[JobRecord, Job]:
        """Read a job's state now, bypassing the cache.

        Returns:
            Its record, which reading may have changed, and its state.

        Raises:
            NotFound: There is no job of that name or id.
            DtrainError: The job's folder can't be read.
        """
        made = await self.read(await self._records.record(name), fresh=True)
        return await self._records.record(made.id), made

    async def recent(self, name: str) -> tuple[JobRecord, Job]:
        """Read a job's state, which may be a few seconds old; returns and raises as `fresh`."""
        made = await self.read(await self._records.record(name))
        return await self._records.record(made.id), made

    async def read_or_last_seen(self, record: JobRecord, seen: Job | None) -> Job:
        """Read a job's state, or fall back to the last seen one, so that a silent host blocks no listing.

        The first call waits for a silent host; later ones return at once, until a read succeeds again.

        Args:
            record: Record of the job.
            seen: The state last seen, returned with a reason if the job can't be read within `LOOK_WITHIN_S`.

        Raises:
            DtrainError: The job can't be read, and was never seen before.
        """
        before, looking = self._looking.get(record.id, (None, None))
        if looking is None or looking.done() or before != record:
            looking = asyncio.create_task(self.read(record))
            looking.add_done_callback(partial(self._has_looked, record.id))
            self._looking[record.id] = record, looking
        if seen is None:
            return await asyncio.shield(looking)
        await asyncio.wait({looking}, timeout=0 if record.id in self._silent else LOOK_WITHIN_S)
        if not looking.done():
            reason = self._silent.setdefault(record.id, NOT_ASKED)
            return replace(seen, reason=seen.reason or reason)
        error = looking.exception()
        if isinstance(error, DtrainError):
            return replace(seen, reason=unknown(error).reason)
        return looking.result()

    async def quietly(self, record: JobRecord) -> Job | None:
        """Read the state of one job of a list without raising; None if the job was deleted meanwhile."""
        seen = None
        try:
            known = await self._index.find(record.id)
            if known is None:
                return None
            seen = known[1]
            return await self.read_or_last_seen(record, seen)
        except DtrainError as error:
            status = unknown(error)
            log.warning("job %s can't be looked at: %s", record.id, error)
        except Exception as error:  # a bug, whose message names the exception, as everywhere
            bug = f"The state of {record.name} can't be read: {error!r}."
            status = unknown(DtrainError(bug, "See the server's log."))
            log.exception("job %s can't be looked at", record.id)
        if seen is not None:
            return replace(seen, reason=status.reason)
        made = job(record, FolderState(), status, time.time())
        await self._note(record, made)  # otherwise it would be in no list
        return made

    async def all(self, most: int) -> list[Job]:
        """Return the newest jobs and all that have not ended, newest first, each in its current state.

        Args:
            most: Number of newest jobs, ended ones included.
        """
        now = time.monotonic()
        active = await self._index.active()
        lost = [
            record
            for record in await self._index.lost()
            if now - self._checked_at.get(record.id, -LOST_EVERY_S) >= LOST_EVERY_S
        ]
        self._checked_at |= {record.id: now for record in lost}
        looks = await asyncio.gather(*(self.quietly(record) for record in (*active, *lost)))
        looked = {made.id: made for made in looks if made is not None}
        newest = [looked.pop(made.id, made) for made in await self._index.last_states(most)]
        older = [looked[record.id] for record in active if record.id in looked]
        return newest + sorted(older, key=lambda made: made.created_at, reverse=True)

    async def _note(self, record: JobRecord, made: Job) -> None:
        """Save a job's state in the index; a failure is only logged."""
        try:
            await self._index.save_state(record, made)
        except DtrainError as error:
            log.warning("job %s: what was seen is not kept: %s", record.id, error)

    def _has_looked(self, identity: str, task: asyncio.Task[Job]) -> None:
        known = self._looking.get(identity)
        if known is not None and known[1] is task:  # otherwise a newer read is running or done
            del self._looking[identity]
        if task.cancelled():
            return
        error = task.exception()  # marks it as retrieved: the caller may be gone
        if error is None:
            self._silent.pop(identity, None)
        elif isinstance(error, DtrainError) and identity in self._silent:
            self._silent[identity] = unknown(error).reason or NOT_ASKED


def unsure(made: Job) -> bool:
    """Whether it is unknown if a job still runs, because its back-end can't be asked."""
    return made.state not in JOB_ENDED and made.reason is not None and made.reason.code == NOT_ASKED.code


def still_runs(made: Job, force: str) -> Conflict:
    """Return the error for a job that has not ended, or whose state is unknown.

    Args:
        made: The job.
        force: Command that ignores this error.
    """
    if unsure(made) and made.reason is not None:
        return Conflict(
            f"It is unknown whether {made.name} still runs: {made.reason.message}",
            f"If you are sure that the job has ended: {force}",
            code="unknown",
        )
    return Conflict(f"{made.name} still runs.", f"Cancel it first: dtrain-lab job cancel {made.id}")
