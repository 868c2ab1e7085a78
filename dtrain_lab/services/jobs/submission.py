"""Submission of jobs to back-ends. The record is indexed first, so that a crash in between loses no job."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from dtrain_lab.backends.base import UNSURE, Backend
from dtrain_lab.errors import Conflict, DtrainError, NotFound
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.services.index.async_index import AsyncJobIndex
from dtrain_lab.services.jobs import dependencies
from dtrain_lab.services.jobs.ending import JobEnder
from dtrain_lab.services.jobs.linked_files import link_rest
from dtrain_lab.services.jobs.records import JobRecords
from dtrain_lab.services.jobs.status import JobStates
from dtrain_lab.services.plans import folder_files
from dtrain_lab.services.plans.blocking_findings import refuse
from dtrain_lab.services.plans.planning import Planned
from dtrain_lab.services.plans.requests.request_errors import as_finding
from dtrain_lab.wire.jobs.finding import Finding
from dtrain_lab.wire.jobs.job import Job, JobRecord, JobRequest
from dtrain_lab.wire.kinds import JOB_ENDED
from dtrain_lab.wire.processes.head_record import Handle

Warned = Callable[[tuple[Finding, ...]], None]
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FirstJob:
    """A job that has to succeed before another one starts, and its state a moment ago."""

    record: JobRecord
    state: Job


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

    async def submit(self, planned: Planned, warned: Warned | None) -> Job:
        """Submit a plan; its check must not have found a problem.

        Args:
            planned: The plan.
            warned: Called with the check's warnings before the submission.

        Raises:
            DtrainError: As in `hand_over`; or the check has found a problem, or the job could never start.
        """
        refuse(planned.findings, planned.never)
        warnings = tuple(finding for finding in planned.findings if finding.severity == "warning")
        if warned is not None and warnings:
            warned(warnings)
        record = replace(planned.record, created_at=time.time())

        async def link() -> None:
            if record.plan.traits.one_machine:
                code = Path(record.directory) / job_files.CODE
                await asyncio.to_thread(link_rest, planned.file.parent, code, planned.left)

        return await self.hand_over(record, planned.files, link, planned.backend)

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
        record = await self.resolved(record, backend)
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

    async def resolved(self, record: JobRecord, backend: Backend) -> JobRecord:
        """Return a job's record with the job for which it waits as its back-end refers to that one.

        Args:
            record: The job's record, which names the other one as its user did.
            backend: The job's back-end.

        Raises:
            NotFound: There is no such other job.
            Conflict: The job can't wait for the other one.
        """
        if record.request.after is None:
            return record
        other, state = await self._states.fresh(record.request.after)
        newest, _ = await self._records.find(other.name)
        name = other.name if newest.id == other.id else f"{other.name} ({other.id})"
        return await dependencies.resolve(replace(record, waits_for=name), state, other, backend)

    async def first_job(self, request: JobRequest) -> FirstJob | DtrainError | None:
        """Return the job that has to succeed first, or why no job can wait for it.

        The error is not raised, because the plan names it together with the other problems of the request.
        The state may be a moment old, because a form checks after each edit; `resolved` reads it anew.

        Args:
            request: The user's request.

        Returns:
            The job or the error; None if the request names no such job.
        """
        if request.after is None:
            return None
        try:
            record, state = await self._states.recent(request.after)
            return dependencies.refusal(state) or FirstJob(record, state)
        except NotFound as error:
            where = {"field": "after"}
            hint = "Give the name or id of a job in your list of jobs."
            return NotFound(error.message, hint, code=error.code, details=where)
        except DtrainError as error:
            error.details.setdefault("field", "after")
            return error

    async def resolved_or_refused(
        self, record: JobRecord, first: FirstJob | DtrainError | None, backend: Backend
    ) -> tuple[JobRecord, tuple[Finding, ...]]:
        """Return a record with the other job as the scheduler names it; or without it, and as a finding why.

        Args:
            record: The job's record.
            first: What `first_job` has returned.
            backend: The job's back-end.
        """
        if first is None:
            return record, ()
        alone = replace(record, request=replace(record.request, after=None))
        if isinstance(first, DtrainError):
            return alone, (as_finding(first),)
        try:
            return await dependencies.resolve(record, first.state, first.record, backend, fresh=False), ()
        except DtrainError as error:
            return alone, (as_finding(error),)

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
            Conflict: A job that has not ended has the same name, continues the same job, or writes the same
                checkpoints.
        """

        def goes_on(other: JobRecord) -> bool:
            return record.checkpoints != "" and other.checkpoints == record.checkpoints

        def continues_the_same(other: JobRecord) -> bool:
            return record.parent is not None and other.parent == record.parent

        def clashes(other: JobRecord) -> bool:
            named = record.parent is None and record.request.name is not None
            return (named and other.name == record.name) or goes_on(other) or continues_the_same(other)

        ended = {record.parent}
        while True:
            other = await self._index.add(
                record, lambda candidate: candidate.id not in ended and clashes(candidate)
            )
            if other is None:
                return
            _, job = await self._states.fresh(other.id)  # it may have ended since its state was last read
            if job.state in JOB_ENDED:
                if goes_on(other):
                    await self._ender.end_rest(other, job)
                ended.add(other.id)
            elif goes_on(other) or continues_the_same(other):
                raise Conflict(
                    f"{other.name} ({other.id}) already continues this job.",
                    f"Cancel it first: dtrain-lab job cancel {other.id}",
                )
            else:
                raise Conflict(f'A job "{other.name}" already exists.', "Choose another name, or cancel it.")


def record_of(first: FirstJob | DtrainError | None) -> JobRecord | DtrainError | None:
    """Return the record of the job that has to succeed first; an error, and None, as they are."""
    return first.record if isinstance(first, FirstJob) else first


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
