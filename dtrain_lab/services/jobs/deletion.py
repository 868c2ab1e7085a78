"""Removes jobs that have ended: their rows in the index, their folders and their checkpoints."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from dtrain_lab.errors import Conflict, DtrainError, NotFound
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.services.index.async_index import AsyncJobIndex
from dtrain_lab.services.jobs import folder_reads
from dtrain_lab.services.jobs.ending import JobEnder
from dtrain_lab.services.jobs.records import JobRecords
from dtrain_lab.services.jobs.status import JobStates, still_runs, unsure
from dtrain_lab.services.policy import backends
from dtrain_lab.wire.jobs.job import Job, JobRecord
from dtrain_lab.wire.kinds import JOB_ENDED

log = logging.getLogger(__name__)


class Deletion:
    """Removes jobs that have ended.

    Args:
        index: Index of jobs.
        states: Reads the state of jobs.
        records: Finds the records of jobs.
        ender: Ends what is left of a job.
    """

    def __init__(self, index: AsyncJobIndex, states: JobStates, records: JobRecords, ender: JobEnder) -> None:
        self._index = index
        self._states = states
        self._records = records
        self._ender = ender

    async def delete(self, name: str, *, force: bool) -> Job:
        """Remove a job; the arguments and errors are those of `Jobs.delete`."""
        record, job = await self._records.find(name)
        ended = await self._ended(record, job, force=force)
        if not force:
            await self._ender.end_rest(record, ended)
        await remove(record, ended.name, self._index, force=force)
        return ended

    async def delete_all(self, jobs: Sequence[str], *, force: bool) -> None:
        """Remove jobs together; the arguments and errors are those of `Jobs.delete_all`."""
        left = [identity for identity in jobs if await self._may_go(identity, force=force)]
        await self._refuse_shared(left)
        for identity in reversed(left):  # a job that continues another one has its checkpoints there
            try:
                await self.delete(identity, force=force)
            except NotFound:  # deleted by another client meanwhile
                continue

    async def _may_go(self, identity: str, *, force: bool) -> bool:
        """Whether a job is still there.

        Raises:
            Conflict: It still runs.
        """
        try:
            record, job = await self._records.find(identity)
        except NotFound:
            return False
        if job is None or job.state not in JOB_ENDED:
            await self._ended(record, job, force=force)
        return True

    async def _refuse_shared(self, jobs: Sequence[str]) -> None:
        """Refuse to remove jobs in whose folders other jobs have their checkpoints, before any is removed."""
        folders = await self._index.checkpoints()
        theirs = {folders[identity] for identity in jobs if folders.get(identity)}
        users = [user for user, folder in folders.items() if folder in theirs and user not in jobs]
        if users:
            raise _shared("The folders of these jobs contain", await self._named(users))

    async def _named(self, jobs: Sequence[str]) -> list[tuple[str, str]]:
        return [(identity, (await self._records.record(identity)).name) for identity in jobs]

    async def _ended(self, record: JobRecord, last: Job | None, *, force: bool) -> Job:
        """Return the state of a job that has ended; with `force`, also of a job whose state is unknown."""
        try:
            job = await self._states.read(record, fresh=True)
        except DtrainError:
            if not force or last is None:
                raise
            job = last
        if job.state not in JOB_ENDED and not (force and unsure(job)):
            raise still_runs(job, f"dtrain-lab job delete {job.id} --force")
        return job


async def remove(record: JobRecord, name: str, index: AsyncJobIndex, *, force: bool) -> None:
    """Remove a job's row, folder and checkpoints.

    Args:
        record: Record of the job.
        name: Name of the job, for errors.
        index: Index of jobs.
        force: Leave the folder if it can't be removed.

    Raises:
        Conflict: Another job has its checkpoints in the job's folder.
        DtrainError: The folder can't be read or removed; the job stays in the index.
    """
    checkpoints = f"{record.directory}/{job_files.CHECKPOINTS}"
    row, users = await index.take_out(record.id, checkpoints)
    if users and await folder_reads.is_empty(record, checkpoints):
        # earlier versions started a job over in the folder of one without checkpoints
        row, users = await index.take_out(record.id, checkpoints, await _ended_of(users, index))
    if users:
        raise _shared(f"The folder of {name} ({record.id}) contains", users)
    for place in backends.backend(record.plan.backend).files(record):
        try:
            await place.transport.remove(record.directory)
        except DtrainError as error:
            if force:
                log.warning("job %s is deleted, and its folder is left: %s", record.id, error)
                continue
            if row is not None:
                await index.put_back(row)
            raise


async def _ended_of(users: Sequence[tuple[str, str]], index: AsyncJobIndex) -> list[str]:
    """Return the ids of those jobs that have ended: they write no checkpoint any more."""
    found = [(identity, await index.find(identity)) for identity, _ in users]
    return [
        identity
        for identity, known in found
        if known is not None and known[1] is not None and known[1].state in JOB_ENDED
    ]


def _shared(where: str, users: Sequence[tuple[str, str]]) -> Conflict:
    """The error that other jobs need a folder; `where` names it, with its verb."""
    names = ", ".join(f"{name} ({identity})" for identity, name in users)
    return Conflict(
        f"{where} checkpoints of {names}.",
        "Delete the jobs that were resumed from it first.",
        code="checkpoints_used",
        details={"jobs": [identity for identity, _ in users]},
    )
