"""Submission of jobs to back-ends. The record is indexed first, so that a crash in between loses no job."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from dtrain_lab.backends.base import UNSURE, Backend
from dtrain_lab.errors import Conflict, DtrainError
from dtrain_lab.services.index.async_index import AsyncJobIndex
from dtrain_lab.services.jobs import dependencies
from dtrain_lab.services.jobs.ending import JobEnder
from dtrain_lab.services.jobs.records import JobRecords
from dtrain_lab.services.jobs.status import JobStates
from dtrain_lab.services.plans import folder_files
from dtrain_lab.wire.jobs.job import Job, JobRecord
from dtrain_lab.wire.kinds import JOB_ENDED
from dtrain_lab.wire.processes.head_record import Handle

log = logging.getLogger(__name__)


class JobSubmitter:
    """Submits jobs to their back-ends.

    Args:
        index: Index of jobs.
        records: Their records.
        states: Reads their state.
        ender: Ends them.
    """

    def __init__(self, index: AsyncJobIndex, records: JobRecords, states: JobStates, ender: JobEnder) -> None:
        self._index, self._records, self._states, self._ender = index, records, states, ender

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
            other, state = await self._states.fresh(record.request.after)
            record = await dependencies.resolve(record, state, other, backend)
        files = {**files, **folder_files.files_of(record, backend)}
        await self._add(record)
        try:
            with self._records.submitting(record.id):
                handle = await self._submitted(record, files, complete, backend)
        except DtrainError as error:
            if error.code != UNSURE:
                raise
            log.warning("job %s: %s", record.id, error)
            return await self._unsure(record.id)
        try:
            record = await self._records.change(record.id, handle=handle)
        except DtrainError as error:  # it runs, and is found by its id once the index is usable
            log.warning("job %s was handed over, but the index does not show it yet: %s", record.id, error)
            record = replace(record, handle=handle)
        if record.cancelled_at is not None:  # cancelled during the submission
            await self._ender.end(record)
        return await self._states.read(record)

    async def _submitted(
        self,
        record: JobRecord,
        files: dict[str, bytes],
        complete: Callable[[], Awaitable[None]],
        backend: Backend,
    ) -> Handle:
        """Complete a job's folder and submit it; a job that was refused is removed again."""
        try:
            await complete()
            return await backend.submit(record, files)
        except DtrainError as error:
            if error.code != UNSURE and not await _was_accepted(record, backend):
                await _remove_folders(record, backend)
                await self._index.remove(record.id)
            raise

    async def _unsure(self, identity: str) -> Job:
        """Keep a job that the scheduler may have: each read of its state asks the scheduler for it."""
        record = await self._records.record(identity)
        if record.cancelled_at is not None:
            await self._ender.end(record)
        return await self._states.read(record)

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
            _, seen = await self._states.fresh(other.id)  # it may have ended since its state was last read
            if seen.state in JOB_ENDED:
                if goes_on(other):
                    await self._ender.end_rest(other, seen)
                ended.add(other.id)
            elif goes_on(other):
                raise Conflict(
                    f"{other.name} ({other.id}) has already resumed from there.",
                    f"Cancel it first: dtrain-lab job cancel {other.id}",
                )
            else:
                raise Conflict(f'A job "{other.name}" already exists.', "Choose another name, or cancel it.")


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
