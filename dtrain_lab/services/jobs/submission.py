"""Submission of jobs to back-ends. The record is indexed first, so that a crash in between loses no job."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from dtrain_lab.backends.base import UNSURE, Backend
from dtrain_lab.errors import Conflict, DtrainError, NotFound
from dtrain_lab.services.index.async_index import AsyncJobIndex
from dtrain_lab.services.jobs import dependencies
from dtrain_lab.services.jobs.status import StateReader
from dtrain_lab.services.plans import folder_files
from dtrain_lab.wire.jobs.job import Job, JobRecord
from dtrain_lab.wire.kinds import JOB_ENDED

log = logging.getLogger(__name__)


class Submitter:
    """Submits jobs to their back-ends.

    Args:
        index: Index of jobs.
        looks: Reads the state of jobs.
    """

    def __init__(self, index: AsyncJobIndex, looks: StateReader) -> None:
        self._index = index
        self._states = looks

    async def hand_over(
        self,
        record: JobRecord,
        files: dict[str, bytes],
        complete: Callable[[], Awaitable[None]],
        backend: Backend,
    ) -> Job:
        """Add a job to the index, and submit it to its back-end.

        Args:
            record: Record of the job.
            files: Files of the job's folder, by relative path, besides its record and scripts.
            complete: Called before the submission, to add what else the folder needs.
            backend: The job's back-end.

        Raises:
            Conflict: The job can't wait for the other one, or clashes with a job that has not ended.
            DtrainError: The job was refused; its folder and its index entry are removed.

        Returns:
            The job; in the state *planned*, with the reason, if the scheduler has not confirmed it.
        """
        if record.request.after is not None:
            other, state = await self.fresh(record.request.after)
            record = await dependencies.resolve(record, state, other, backend)
        files = {**files, **folder_files.files_of(record, backend)}
        await self._add(record)
        self._states.handing_over.add(record.id)
        try:
            await complete()
            handle = await backend.submit(record, files)
        except DtrainError as error:
            if error.code == UNSURE:
                return await self._unsure(record, error)
            if not await _was_accepted(record, backend):
                await _remove_folders(record, backend)
                await self._index.remove(record.id)
            raise
        finally:
            self._states.handing_over.discard(record.id)
        try:
            record = await self._states.change(record.id, handle=handle)
        except DtrainError as error:  # it runs, and is found by its id once the index is usable
            log.warning("job %s was handed over, but the index does not show it yet: %s", record.id, error)
            record = replace(record, handle=handle)
        if record.cancelled_at is not None:  # cancelled during the submission
            await self._states.end(record)
        return await self._states.read(record)

    async def _unsure(self, record: JobRecord, error: DtrainError) -> Job:
        """Keep a job that the scheduler may have: each read of its state asks the scheduler for it."""
        log.warning("job %s: %s", record.id, error)
        self._states.handing_over.discard(record.id)
        if (await self.indexed_record(record.id)).cancelled_at is not None:
            await self._states.end(await self.indexed_record(record.id))
        return await self._states.read(await self.indexed_record(record.id))

    async def _add(self, record: JobRecord) -> None:
        """Add a new job to the index.

        Raises:
            Conflict: A job that has not ended has the same name, or writes the same checkpoints.
        """

        def goes_on(other: JobRecord) -> bool:
            return record.checkpoints != "" and other.checkpoints == record.checkpoints

        def clashes(other: JobRecord) -> bool:
            named = record.parent is None and record.request.name is not None
            return (named and other.name == record.name) or goes_on(other)

        ended = {record.parent}
        while True:
            other = await self._index.add(record, lambda known: known.id not in ended and clashes(known))
            if other is None:
                return
            _, seen = await self.fresh(other.id)  # it may have ended since its state was last read
            if seen.state in JOB_ENDED:
                if goes_on(other):
                    await self.end_rest(other, seen)
                ended.add(other.id)
            elif goes_on(other):
                raise Conflict(
                    f"{other.name} ({other.id}) has already resumed from there.",
                    f"Cancel it first: dtrain-lab job cancel {other.id}",
                )
            else:
                raise Conflict(f'A job "{other.name}" already exists.', "Choose another name, or cancel it.")

    async def indexed(self, name: str) -> tuple[JobRecord, Job | None]:
        """Return a job's record, and its state as last seen.

        Raises:
            NotFound: There is no job of that name or id.
        """
        found = await self._index.find(name)
        if found is None:
            raise NotFound(
                f'There is no job "{name}".',
                "List them: All jobs in the panel, or dtrain-lab job list.",
                code="no_job",
            )
        return found

    async def indexed_record(self, identity: str) -> JobRecord:
        """Return a job's record from the index."""
        return (await self.indexed(identity))[0]

    async def fresh(self, name: str) -> tuple[JobRecord, Job]:
        """Read a job's state now, bypassing the cache.

        Returns:
            Its record, which reading may have changed, and its state.
        """
        record, _ = await self.indexed(name)
        made = await self._states.read(record, fresh=True)
        return await self.indexed_record(record.id), made

    async def end_rest(self, record: JobRecord, made: Job) -> None:
        """End processes that may be left of a job that is known to have ended or is lost.

        Args:
            record: Record of the job.
            made: Its current state.

        Raises:
            DtrainError: A host can't be asked, and the job is lost: nothing else would show that it runs.
        """
        if made.state == "succeeded":  # its script may still run the notification command
            return
        try:
            await self._states.end(record)
        except DtrainError as error:
            if made.state == "lost":
                raise
            log.info("job %s has ended; whether anything is left can't be asked: %s", record.id, error)


async def _was_accepted(record: JobRecord, backend: Backend) -> bool:
    """Whether a scheduler that answered too late has accepted the job: then the job is kept."""
    try:
        return await backend.find(record) is not None
    except DtrainError:  # unknown; the job will be found later, or shown as lost
        return True


async def _remove_folders(record: JobRecord, backend: Backend) -> None:
    """Remove the folders of a job that was refused."""
    for place in backend.files(record):
        try:
            await place.transport.remove(record.directory)
        except DtrainError as error:
            log.warning("job %s was refused, and its folder is left: %s", record.id, error)
