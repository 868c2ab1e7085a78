"""Jobs for all clients: plan, submit, list, read, cancel, resume, delete.

A job's state is read from its folder and its scheduler each time (`status`); no process keeps it.
The record is added to the index before the job is submitted, so that a crash in between loses no job: one
that the back-end accepted is found again by its id.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from dtrain_lab.errors import DtrainError
from dtrain_lab.jobs.prune import prunable
from dtrain_lab.jobs.state import is_final
from dtrain_lab.services.index import async_index, rebuild
from dtrain_lab.services.index.rebuild import Rebuilt
from dtrain_lab.services.index.store import JobIndex
from dtrain_lab.services.jobs import resumption
from dtrain_lab.services.jobs.deletion import Deletion
from dtrain_lab.services.jobs.ending import JobEnder
from dtrain_lab.services.jobs.reader import JobReader
from dtrain_lab.services.jobs.records import JobRecords
from dtrain_lab.services.jobs.status import JobStates, still_runs, unsure
from dtrain_lab.services.jobs.submission import JobSubmitter, Warned, record_of
from dtrain_lab.services.plans.plan_store import Plans
from dtrain_lab.services.plans.planning import Planned, new_id
from dtrain_lab.services.policy import backends, limits
from dtrain_lab.wire.jobs.job import Job, JobPlan, JobRequest, StoppedBy
from dtrain_lab.wire.kinds import JOB_ENDED

OnJobState = Callable[[Job], None]
Named = Callable[[str], None]
log = logging.getLogger(__name__)


class Jobs:
    """Jobs of this user.

    Args:
        store: Index of jobs; by default the user's. Its file is opened by the first call.
    """

    def __init__(self, store: JobIndex | None = None) -> None:
        self._index = async_index.AsyncJobIndex(store or async_index.usual())
        self._records = JobRecords(self._index)
        self._ender = JobEnder(self._records)
        self._states = JobStates(self._index, self._records, self._ender)
        self._plans = Plans(self._index)
        self._submitter = JobSubmitter(self._index, self._records, self._states, self._ender)
        self._deletion = Deletion(self._index, self._states, self._records, self._ender)

    # ---- submit

    async def plan(self, request: JobRequest, file: Path, *, ask: bool = False) -> JobPlan:
        """Plan a job without submitting it; the plan's id can be passed to `submit`.

        Args:
            request: The user's request.
            file: Path of the notebook.
            ask: Also ask the scheduler whether it would accept the job, and when the job would start.

        Raises:
            DtrainError: The job can't be planned.
        """
        return (await self.planned(request, file, ask=ask))[0]

    async def planned(self, request: JobRequest, file: Path, *, ask: bool = False) -> tuple[JobPlan, Planned]:
        """Plan a job, and return also what the plan was made from; the arguments are those of `plan`."""
        if request.after is None:
            return await self._plans.preview(request, file, None, ask=ask)
        first = await self._submitter.first_job(request)
        shown, planned = await self._plans.preview(request, file, record_of(first), ask=ask)
        record, never = await self._submitter.resolved_or_refused(planned.record, first, planned.backend)
        command = planned.backend.command(record)  # names the other job as the scheduler does
        return replace(shown, command=command, findings=(*never, *shown.findings)), planned

    async def submit(
        self,
        request: JobRequest,
        file: Path,
        warned: Warned | None = None,
        *,
        plan: str | None = None,
        named: Named | None = None,
        source: str | None = None,
    ) -> Job:
        """Submit a notebook, or a plan of it.

        Args:
            request: The user's request.
            file: Path of the notebook.
            warned: Called with the check's warnings before the submission.
            plan: Id of a plan that was previewed: exactly that plan is submitted.
            named: Called with the job's id before anything is handed over.
            source: Absolute path of the user's notebook, if `file` is a copy of it.

        Raises:
            Conflict: The sources have changed since the plan was made.
            DtrainError: Nothing was submitted; the message says why.
        """
        if plan is not None:
            planned = await self._plans.take_preview(plan, request)
        else:
            first = None
            if request.after is not None:
                first = record_of(await self._submitter.first_job(request))
            planned = await self._plans.make(request, file, first)
        if source is not None:
            planned = replace(planned, record=replace(planned.record, source=source))
        if named is not None:
            named(planned.record.id)
        try:
            return await self._submitter.submit(planned, warned)
        except DtrainError:
            # the scheduler may have accepted an indexed job: don't let a second attempt submit it twice
            if await self._index.data(planned.record.id) is None:
                self._plans.put_back(planned)
            raise

    async def resume(
        self, name: str, *, force: bool = False, named: Named | None = None, of_sweep: bool = False
    ) -> Job:
        """Submit a new job with the same code, which continues from the last complete checkpoint.

        Args:
            name: Name or id of the job.
            force: Resume even if it is unknown whether the job still runs.
            named: Called with the new job's id before anything is handed over.
            of_sweep: Whether the job's sweep continues its trial.

        Raises:
            Conflict: The job still runs, or another job continues from its checkpoints already.
        """
        old, parent = await self._states.fresh(name)
        if parent.state not in JOB_ENDED and not (force and unsure(parent)):
            raise still_runs(parent, f"dtrain-lab job resume {parent.id} --force")
        backend = backends.backend(old.plan.backend)
        limits.recheck(old, backend)
        if not force:
            await self._ender.end_rest(old, parent)
        step = parent.checkpoint_step
        anew = await resumption.starts_over(old, step)
        record = resumption.continued_record(old, new_id(), step, anew=anew, of_sweep=of_sweep)
        if named is not None:
            named(record.id)

        async def copy() -> None:
            await resumption.copy_code(old, record.directory, parent.name, backend)

        return await self._submitter.hand_over(record, {}, copy, backend)

    # ---- state

    async def listing(self, most: int = 1000) -> list[Job]:
        """Return jobs, newest first, with the current state of those that have not ended."""
        return await self._states.all(most)

    async def job(self, name: str) -> Job:
        """Return a job by its id, a prefix of its id, or its name (the newest of that name).

        Raises:
            NotFound: There is no such job.
        """
        record, last = await self._records.find(name)
        if last is not None and is_final(last):
            return last
        return await self._states.read_or_last_seen(record, last)

    async def wait(self, name: str, on_state: OnJobState | None = None, every_s: float = 0.5) -> Job:
        """Wait for a job's end, and return its final state.

        Args:
            name: Name or id of the job.
            on_state: Called with the job's state at each poll.
            every_s: Polling interval in seconds.
        """
        while True:
            job = await self.job(name)
            if on_state is not None:
                on_state(job)
            if job.state in JOB_ENDED:
                return job
            await asyncio.sleep(every_s)

    async def reader(self, name: str) -> JobReader:
        """Return a reader of a job's log, metrics, stacks and folder.

        Raises:
            NotFound: There is no such job.
        """
        job = await self.job(name)
        return JobReader(await self._records.record(job.id), job)

    # ---- end

    async def cancel(self, name: str, *, of_sweep: StoppedBy | None = None) -> Job:
        """End a job on all its nodes.

        Args:
            name: Name or id of the job.
            of_sweep: Why its sweep ends it; None if a user does.

        Raises:
            DtrainError: A host can't be reached. The request is repeated when the job's state is next read.
        """
        record, job = await self._records.find(name)
        try:
            job = await self._states.read(record, fresh=True)
        except DtrainError as error:  # the request is recorded, and repeated later
            log.warning("job %s can't be looked at: %s", record.id, error)
        if job is not None and job.state in JOB_ENDED and job.state != "lost":
            await self._ender.end_rest(record, job)
            return job
        why = of_sweep if record.cancelled_at is None else record.cancelled_for  # the first one has ended it
        record = await self._records.change(record.id, cancelled_at=time.time(), cancelled_for=why)
        await self._ender.end(record)
        return await self._states.read(record, fresh=True)

    async def delete(self, name: str, *, force: bool = False) -> Job:
        """Remove a job that has ended, with its folder and all its checkpoints.

        Args:
            name: Name or id of the job.
            force: Remove it even if it is unknown whether it still runs, or if its folder can't be removed.

        Raises:
            Conflict: The job still runs, or another job has its checkpoints in the job's folder.
            Unreachable: The folder can't be removed; the job stays in the index.
        """
        return await self._deletion.delete(name, force=force)

    async def delete_all(self, jobs: Sequence[str], *, force: bool = False) -> None:
        """Remove jobs that have ended and belong together; nothing is removed if one of them may not be.

        Args:
            jobs: Their ids; one that continues another comes after it. Those that are gone are skipped.
            force: As in `delete`.

        Raises:
            Conflict: One still runs, or a job beside these has its checkpoints in the folder of one.
            Unreachable: A folder can't be removed; this job and those before it stay in the index.
        """
        await self._deletion.delete_all(jobs, force=force)

    async def old(self, before: float) -> list[Job]:
        """Return jobs that ended before a time, in an order in which they can be deleted.

        Jobs of a chain of resumes count as old only when the newest of them does. Trials of sweeps are among
        them, which only their sweep may delete, whose best job would be gone otherwise.

        Args:
            before: Seconds since 1970.
        """
        return prunable(await self.listing(100_000), await self._index.checkpoints(), before)

    async def request_of(self, name: str) -> tuple[JobRequest, Path]:
        """Return the request of a job, for duplicating it, and the file of its notebook.

        The copy has the job's name, unless the job still uses it.
        """
        job = await self.job(name)
        record = await self._records.record(job.id)
        file = Path(record.source or record.request.notebook).expanduser().absolute()
        request = record.request
        # a copy of a trial is none of the sweep's
        called = request.name if request.sweep is None and job.state in JOB_ENDED else None
        return replace(request, name=called, after=None, names=None, sweep=None, at_once=1), file

    async def rebuild(self, folder: Path | None = None) -> Rebuilt:
        """Add jobs to the index from their folders; indexed jobs are left unchanged.

        Args:
            folder: Parent of the jobs' folders; by default those of all profiles, on all their machines.

        Raises:
            NotFound: There is no such folder.
        """
        filed, problems = await rebuild.filed(folder)
        indexed = await self._index.ids()
        for identity in filed.keys() - indexed:
            await self._index.put(*filed[identity])
        return Rebuilt(len(filed), len(filed.keys() - indexed), problems)
