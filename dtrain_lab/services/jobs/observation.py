"""Observes jobs: asks their back-ends, and reads their folders; what follows from it is `jobs.judgement`."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from msgspec.structs import replace

from dtrain_lab.backends.base import Backend, Place
from dtrain_lab.errors import DtrainError
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.jobs.folder import read_folder_state
from dtrain_lab.jobs.judgement import unknown
from dtrain_lab.jobs.state import job
from dtrain_lab.services.jobs import folder_reads
from dtrain_lab.services.jobs.ending import JobEnder
from dtrain_lab.services.jobs.records import JobRecords
from dtrain_lab.services.policy import backends
from dtrain_lab.wire.jobs.folder import FolderState
from dtrain_lab.wire.jobs.job import Job, JobRecord
from dtrain_lab.wire.status import Status


class JobObserver:
    """Observes jobs, and cancels again those that run although they were cancelled.

    Args:
        records: Records of the jobs.
        ender: Ends jobs.
    """

    def __init__(self, records: JobRecords, ender: JobEnder) -> None:
        self._records, self._ender = records, ender

    async def observe(self, record: JobRecord) -> tuple[JobRecord, Job]:
        """Return a job's record, which may name a handle that was found just now, and its state.

        Args:
            record: Record of the job.

        Raises:
            DtrainError: The job's folder can't be read.
        """
        backend = backends.backend(record.plan.backend)
        places = backend.files(record)
        record, unfound = await self._found(record, backend)
        # concurrently, so that the timeouts of silent hosts overlap
        status, found = await asyncio.gather(
            _status(record, backend),
            asyncio.gather(*(folder_reads.small(record.directory, place) for place in places)),
        )
        status = status or unfound
        files = _of_all_hosts(found)
        folder = read_folder_state(*files)
        if (
            status is not None
            and status.fate == "ended"
            and (folder.exit is None or (record.request.notify and folder.end_command is None))
            and record.handle is not None
        ):
            folder = await _with_end(record, places[0], *files)
        if backend.traits.one_machine and folder_reads.on_disk_here(record, places[0]):
            folder = replace(folder, head_end=folder_reads.head_end(Path(record.directory)))
        if status is not None and status.fate in ("pending", "running") and folder.exit is None:
            await self._ender.end_again(record)
        made = _judged(record, backend, places[0], folder, status)
        return record, replace(made, checkpoint_step=await folder_reads.checkpoint(record, places[0]))

    async def _found(self, record: JobRecord, backend: Backend) -> tuple[JobRecord, Status | None]:
        """Look for a job whose submission was interrupted.

        Returns:
            Its record, with the handle if the back-end has it; and its status if the back-end can't be asked.
        """
        if record.handle is not None or record.problem is not None or self._records.is_submitting(record.id):
            return record, None
        try:
            handle = await backend.find(record)
        except DtrainError as error:
            return record, unknown(error)
        return (await self._records.change(record.id, handle=handle) if handle is not None else record), None


def _judged(
    record: JobRecord, backend: Backend, first: Place, folder: FolderState, status: Status | None
) -> Job:
    planned = replace(record.plan, traits=backend.traits)  # records of earlier versions have no traits
    return job(
        replace(record, plan=planned),
        folder,
        status,
        time.time(),
        here=backend.traits.one_machine and folder_reads.on_disk_here(record, first),
        limit_s=backend.time_limit_s(record.profile),
        requeues=backend.requeues(record.profile),
    )


async def _status(record: JobRecord, backend: Backend) -> Status | None:
    """Ask the back-end for a job's status; None if the job was not submitted yet."""
    if record.handle is None:
        return None
    try:
        return await backend.status(record)
    except DtrainError as error:
        return unknown(error)


def _of_all_hosts(
    found: list[folder_reads.SmallFiles | DtrainError],
) -> tuple[dict[str, bytes], dict[str, float]]:
    """Merge the small files of a job's folder on all hosts that were reached.

    Returns:
        The files, and by how many seconds the clock of each one's host is ahead.

    Raises:
        DtrainError: The first host was not reached: without its files the state would be wrong.
    """
    if isinstance(found[0], DtrainError):
        raise found[0]
    files: dict[str, bytes] = {}
    ahead: dict[str, float] = {}
    for there in found:
        if not isinstance(there, DtrainError):
            files |= there.files
            ahead |= dict.fromkeys(there.files, there.ahead)
    return files, ahead


async def _with_end(
    record: JobRecord, first: Place, files: dict[str, bytes], ahead: dict[str, float]
) -> FolderState:
    """Read what the script of a job that has ended writes last: perhaps it did so between the two reads."""
    if job_files.EXIT not in files:
        files = files | await folder_reads.exit_file(record, first)
        ahead = ahead | {job_files.EXIT: await first.transport.clock_offset_s()}
    if record.request.notify and job_files.END_COMMAND not in files:
        files = files | (
            await first.transport.read_matching(record.directory, (job_files.END_COMMAND,)) or {}
        )
    return read_folder_state(files, ahead)
