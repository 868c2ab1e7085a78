"""The driver of a sweep: polls its trials' jobs, and carries out the state machine's actions.

Its state is in `sweep.json`, which is written before each action. So a driver that was killed is replaced by
another one, which finds the jobs by their ids.
"""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path
from typing import Any, NamedTuple

from dtrain_lab.errors import DtrainError, NotFound, SignInNeeded, Unreachable
from dtrain_lab.jobs.job_errors import killed_from_outside
from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.services.sweeps import folder as folders
from dtrain_lab.services.sweeps.trial import trial_request
from dtrain_lab.sweeps import reasons, study
from dtrain_lab.sweeps.events import (
    Action,
    ActionRequested,
    Continue,
    End,
    Event,
    HandingOver,
    Judge,
    Judged,
    Missing,
    Polled,
    Refused,
    Submit,
    Suggest,
    Suggested,
    Tick,
)
from dtrain_lab.sweeps.transitions import step
from dtrain_lab.wire.jobs.job import StoppedBy
from dtrain_lab.wire.sweeps import SWEEP_ENDED, ObjectiveValue, SweepRecord, TrialRecord

POLL_S = 0.25
"""Interval at which the trials are polled."""
PROGRESS_S = 1.0
"""Interval at which the progress of trials is written."""
AGAIN: tuple[type[DtrainError], ...] = (Unreachable, SignInNeeded)
"""Refusals after which the same submission may succeed later."""
log = logging.getLogger(__name__)


class _Read(NamedTuple):
    """The part of a job's values that was read. `names`: of the values; `offset`: its end, bytes."""

    reports: tuple[ObjectiveValue, ...] = ()
    names: frozenset[str] = frozenset()
    offset: int = 0


class Driver:
    """Drives one sweep; its caller holds the folder's lock.

    Args:
        folder: The sweep's folder.
        jobs: Jobs of this user.
    """

    def __init__(self, folder: Path, jobs: Jobs) -> None:
        self._folder = folder
        self._jobs = jobs
        self._record = folders.read(folder)
        self._saved = self._record
        self._saved_at = 0.0
        self._read: dict[str, _Read] = {}
        self._ended: set[str] = set()

    async def run(self) -> None:
        """Drive the sweep until it has ended and no client requests anything else."""
        while True:
            request = await asyncio.to_thread(folders.asked, self._folder)
            if request.number > self._record.heard:
                await self._apply(ActionRequested(request.wish, request.number, time.time()))
            if self._record.state in SWEEP_ENDED:
                self._save()
                return
            for number in [trial.number for trial in self._record.trials if trial.handed]:
                event = await self._poll_trial(self._record.trials[number])
                if event is not None:
                    await self._apply(event)
            await self._apply(Tick(time.time()))
            if self._record.state not in SWEEP_ENDED:
                await asyncio.sleep(POLL_S)

    async def _apply(self, event: Event) -> None:
        """Feed an event to the state machine, and carry out the actions that follow."""
        actions = list(self._step(event))
        while actions:
            action = actions.pop(0)
            answer = await self._perform(action)
            if answer is not None:
                actions = list(self._step(answer))

    def _step(self, event: Event) -> tuple[Action, ...]:
        self._record, actions = step(self._record, event)
        self._save()
        return actions

    def _save(self) -> None:
        """Write the record: decisions at once and synced to disk, progress at intervals."""
        if self._record == self._saved:
            return
        decided = _decided(self._record) != _decided(self._saved)
        if not decided and time.monotonic() - self._saved_at < PROGRESS_S:
            return
        folders.write(self._folder, self._record, safely=decided)
        self._saved, self._saved_at = self._record, time.monotonic()

    async def _perform(self, action: Action) -> Event | None:
        match action:
            case Suggest():
                return Suggested(await asyncio.to_thread(study.suggest, self._record))
            case Judge(number):
                return Judged(number, await asyncio.to_thread(study.falls_behind, self._record, number))
            case Submit(number) | Continue(number, _):
                return await self._hand_over(action, number)
            case End(_, job, why):
                await self._end(job, why)
                return None

    async def _hand_over(self, action: Submit | Continue, number: int) -> Event | None:
        def named(job: str) -> None:
            self._step(HandingOver(number, job))

        record, trial = self._record, self._record.trials[number]
        try:
            if isinstance(action, Continue):
                await self._jobs.resume(action.job, named=named, of_sweep=True)
            else:
                name = f"{record.name} {number}"
                request = trial_request(record.request, trial.parameters, name, record.id, record.parallel)
                await self._jobs.submit(request, Path(record.file), named=named, source=record.source or None)
        except DtrainError as error:
            log.warning("sweep %s: trial %d: %s", record.id, number, error)
            job = self._record.trials[number].job
            if job is not None and self._record.trials[number].handed and await self._is_there(job):
                return Tick(time.time())  # the scheduler may have it: it is polled like the others
            again = isinstance(error, AGAIN)
            return Refused(number, error.code, error.message, error.hint, again=again, at=time.time())
        return Tick(time.time())

    async def _is_there(self, job: str) -> bool:
        try:
            await self._jobs.job(job)
        except NotFound:
            return False
        except DtrainError:  # unknown: a job that may run must not be submitted again
            return True
        return True

    async def _end(self, job: str, why: StoppedBy) -> None:
        if job in self._ended:
            return
        try:
            await self._jobs.cancel(job, of_sweep=why)
        except NotFound:  # the next poll reports it
            return
        except DtrainError as error:  # the request is recorded; each poll of the job repeats it
            log.warning("sweep %s: job %s can't be ended now: %s", self._record.id, job, error)
        self._ended.add(job)

    async def _poll_trial(self, trial: TrialRecord) -> Event | None:
        """Poll a trial's job; None if it can't be read now."""
        assert trial.job is not None
        try:
            reader = await self._jobs.reader(trial.job)
            job, before = reader.job, self._read.get(trial.job, _Read())
            logged, offset = await reader.values(before.offset)
        except NotFound:
            return Missing(trial.number, time.time())
        except DtrainError as error:
            log.warning("sweep %s: job %s can't be looked at: %s", self._record.id, trial.job, error)
            return None
        name = self._record.request.objective
        new = tuple(
            ObjectiveValue(entry.step, float(entry.values[name])) for entry in logged if name in entry.values
        )
        names = before.names.union(*(entry.values for entry in logged))
        read = self._read[trial.job] = _Read((*before.reports, *new), names, offset)
        return Polled(
            trial.number,
            job.state,
            started_at=job.started_at,
            ended_at=job.ended_at,
            checkpoint_step=job.checkpoint_step,
            begins_again=job.begins_again,
            error=reasons.of_job(job),
            killed=killed_from_outside(job),
            reports=read.reports,
            names=tuple(sorted(names)),
        )


def _decided(record: SweepRecord) -> Any:
    trials = [(t.state, t.jobs, t.handed, t.seen, t.ending, len(t.rungs)) for t in record.trials]
    return record.state, record.heard, record.reason, record.total, record.first_rung, trials
