"""The state machine of a sweep: `step(record, event) -> (record, actions)`.

`actions` are all actions due now. The driver performs the first one, passes its answer as an event, and
continues with the actions that this step returns. The record is saved before an action is performed, so that
a driver that dies loses no trial, and its successor runs none twice.
"""

from __future__ import annotations

import math

from msgspec.structs import replace

from dtrain_lab.sweeps import reasons, rungs
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
from dtrain_lab.wire.cluster import Reason
from dtrain_lab.wire.kinds import JOB_ENDED
from dtrain_lab.wire.summary import Summary
from dtrain_lab.wire.sweeps import SWEEP_ENDED, TRIAL_ENDED, SweepRecord, TrialRecord, TrialRun

MOST_RESUMES = 3
"""Maximum number of automatic resumptions of a killed trial."""
AGAIN_S = 5.0
"""Seconds until a submission that was refused temporarily is tried again."""


def step(record: SweepRecord, event: Event) -> tuple[SweepRecord, tuple[Action, ...]]:
    """Apply an event to a sweep.

    Args:
        record: The sweep.
        event: What happened; times in it are in seconds since 1970.

    Returns:
        The new record, and all actions that are due.
    """
    now, before = None, record
    match event:
        case Tick(at):
            now = at
        case ActionRequested():
            record, now = _action_requested(record, event), event.at
        case Suggested(None):
            record = replace(record, total=len(record.trials))
        case Suggested(parameters):
            new_trial = TrialRecord(len(record.trials), "waiting", parameters or {})
            record = replace(record, trials=(*record.trials, new_trial))
        case HandingOver(number, job):
            trial = record.trials[number]
            record = _with(
                record,
                replace(
                    trial,
                    job=job,
                    jobs=(*trial.jobs, job),
                    resumes=len(trial.jobs),
                    resumed_step=None if trial.begins_again else trial.checkpoint_step,
                    handed=True,
                    seen=False,
                    reason=None,
                    ended_at=None,
                ),
            )
            if record.state == "running":
                record = replace(record, retry_at=None, reason=None)
        case Refused():
            record, now = _refused(record, event), event.at
        case Missing(number, at):
            record, now = _with(record, _missing(record.trials[number], at)), at
        case Polled():
            record = _polled(record, event)
        case Judged(number, behind):
            record = _judged(record, number, behind)
    record = _ended(record)
    if isinstance(event, Polled) and _reached_rung(before, record, event.number):
        return record, (Judge(event.number),)
    return record, _due(record, now)


def _action_requested(record: SweepRecord, event: ActionRequested) -> SweepRecord:
    if event.number <= record.heard:
        return record
    record = replace(record, heard=event.number)
    if event.wish == "stop":
        return record if record.state in SWEEP_ENDED else replace(record, state="stopping")
    if record.state not in ("stopped", "failed"):
        return record
    trials = tuple(
        replace(trial, state="waiting", ended_at=None, reason=None, ending=None)
        if trial.state == "stopped"
        else trial
        for trial in record.trials
    )
    return replace(record, state="running", reason=None, ended_at=None, retry_at=None, trials=trials)


def _refused(record: SweepRecord, event: Refused) -> SweepRecord:
    trial = replace(record.trials[event.number], reason=Summary(event.code, {}, event.message))
    if trial.handed:
        trial = _taken_back(trial)
    runs = any(other.handed for other in record.trials if other.number != event.number)
    # a scheduler that limits a user's jobs takes the next one when another trial has ended
    again = event.again or (event.code == "refused" and runs)
    if trial.jobs and not again:  # this trial can't be continued; others may be
        return _with(record, replace(trial, state="failed", ended_at=event.at))
    record = _with(record, trial)
    reason = Reason(event.code, event.message, event.hint, final=not again)
    if again:
        return replace(record, retry_at=event.at + AGAIN_S, reason=reason)
    return replace(record, state="stopping", reason=reason)


def _taken_back(trial: TrialRecord) -> TrialRecord:
    """A trial whose job was not submitted: it waits, as before."""
    jobs = trial.jobs[:-1]
    return replace(
        trial,
        state="waiting",
        jobs=jobs,
        job=jobs[-1] if jobs else None,
        resumes=max(0, len(jobs) - 1),
        handed=False,
        seen=False,
    )


def _missing(trial: TrialRecord, at: float) -> TrialRecord:
    if not trial.handed:
        return trial
    if not trial.seen:  # the driver died before the submission
        return _taken_back(trial)
    runs = tuple(replace(run, ended_at=run.ended_at or at) for run in trial.runs)
    return replace(
        trial, state="failed", handed=False, ended_at=at, ending=None, reason=reasons.DELETED, runs=runs
    )


def _polled(record: SweepRecord, event: Polled) -> SweepRecord:
    trial = record.trials[event.number]
    if not trial.handed:
        return record
    reached = rungs.at_rungs(event.reports, record.first_rung, trial.rungs)
    finite = [report for report in event.reports if math.isfinite(report.value)]
    last = finite[-1] if finite else None
    trial = replace(
        trial,
        seen=True,
        started_at=trial.started_at or event.started_at,
        checkpoint_step=event.checkpoint_step,
        begins_again=event.begins_again,
        value=last.value if last else trial.value,
        step=last.step if last else trial.step,
        curve=rungs.curve(event.reports, trial.curve),
        rungs=reached,
        runs=_runs(trial, event),
    )
    if event.state not in JOB_ENDED:
        waits = event.state in ("planned", "queued") and event.started_at is None
        on = "resumed" if trial.resumes else "running"
        why = trial.reason if trial.ending == "prune" else event.error if waits else None
        return _with(record, replace(trial, state="waiting" if waits else on, reason=why))
    return _job_ended(record, trial, event)


def _runs(trial: TrialRecord, event: Polled) -> tuple[TrialRun, ...]:
    """Return the runs of a trial with that of its latest job, as it was polled."""
    if trial.job is None or event.started_at is None:
        return trial.runs
    # if the end is unknown, the current time is not taken for it
    end = (event.ended_at or event.started_at) if event.state in JOB_ENDED else None
    earlier = tuple(run for run in trial.runs if run.job != trial.job)
    return (*earlier, TrialRun(trial.job, event.started_at, end))


def _job_ended(record: SweepRecord, trial: TrialRecord, event: Polled) -> SweepRecord:
    trial = replace(trial, handed=False, ended_at=event.ended_at)
    if event.state == "succeeded":
        return _succeeded(record, replace(trial, ending=None), event)
    if trial.ending == "prune":
        return _with(record, replace(trial, state="pruned", ending=None))
    if trial.ending == "stop":
        return _with(record, replace(trial, state="stopped", ending=None))
    if event.state == "cancelled":
        return _with(record, replace(trial, state="stopped", reason=reasons.CANCELLED))
    if (event.killed or event.state == "lost") and trial.resumes < MOST_RESUMES:
        return _with(record, replace(trial, state="waiting", reason=event.error, ended_at=None))
    return _with(record, replace(trial, state="failed", reason=event.error or reasons.FAILED))


def _succeeded(record: SweepRecord, trial: TrialRecord, event: Polled) -> SweepRecord:
    name = record.request.objective
    last = event.reports[-1] if event.reports else None
    if last is not None and not math.isfinite(last.value):
        why = reasons.not_finite(name, last)
        return _with(record, replace(trial, state="failed", value=None, step=last.step, reason=why))
    if last is None and trial.value is None:
        why = reasons.no_objective(name, event.names)
        record = _with(record, replace(trial, state="failed", reason=why))
        if any(other.value is not None for other in record.trials):
            return record
        hint = f"Call dt.log(step, {name}=…) in the notebook, or name another objective."
        reason = Reason("no_objective", f"Trial {trial.number}: {why.text}", hint, final=True)
        return replace(record, state="stopping", reason=reason)
    if record.first_rung is None and trial.step:
        record = replace(record, first_rung=rungs.first_rung(trial.step))
        trial = replace(trial, rungs=rungs.at_rungs(event.reports, record.first_rung))
    return _with(record, replace(trial, state="succeeded", reason=None))


def _judged(record: SweepRecord, number: int, behind: bool) -> SweepRecord:
    trial = record.trials[number]
    if not behind or not trial.handed or trial.ending is not None or not trial.rungs:
        return record
    rung = trial.rungs[-1]
    others = sum(len(other.rungs) >= len(trial.rungs) for other in record.trials)
    why = reasons.behind(record.request.objective, rung, others)
    return _with(record, replace(trial, ending="prune", reason=why))


def _ended(record: SweepRecord) -> SweepRecord:
    """Mark what has to be ended, and the sweep itself once none of its trials continues."""
    if record.state == "stopping":
        trials = tuple(
            replace(trial, ending="stop") if trial.handed and trial.ending is None else trial
            for trial in record.trials
        )
        record = replace(record, trials=trials)
        if any(trial.handed for trial in trials):
            return record
        trials = tuple(  # a trial that was to be continued
            replace(trial, state="stopped") if trial.state == "waiting" and trial.jobs else trial
            for trial in trials
        )
        final = record.reason is not None and record.reason.final
        return _final(replace(record, trials=trials, state="failed" if final else "stopped"))
    if record.state != "running" or len(record.trials) < record.total:
        return record
    if any(trial.state not in TRIAL_ENDED for trial in record.trials):
        return record
    if any(trial.state == "succeeded" for trial in record.trials):
        return _final(replace(record, state="succeeded", reason=None))
    if any(trial.state == "stopped" for trial in record.trials):
        return _final(replace(record, state="stopped"))
    first = next((t.reason.text for t in record.trials if t.state == "failed" and t.reason), "")
    return _final(
        replace(record, state="failed", reason=Reason("no_success", f"No trial has succeeded. {first}", ""))
    )


def _final(record: SweepRecord) -> SweepRecord:
    return replace(record, ended_at=max((t.ended_at or 0.0 for t in record.trials), default=0.0) or None)


def _due(record: SweepRecord, now: float | None) -> tuple[Action, ...]:
    """Return all actions that are due; refused ones are due again only at their time."""
    ending = [t for t in record.trials if t.handed]
    due: list[Action] = [End(t.number, t.job, t.ending) for t in ending if t.ending and t.job]
    if record.state != "running":
        return tuple(due)
    if record.retry_at is not None and (now is None or now < record.retry_at):
        return tuple(due)
    free = record.parallel - sum(trial.handed for trial in record.trials)
    waiting = [trial for trial in record.trials if trial.state == "waiting" and not trial.handed]
    for trial in waiting[: max(0, free)]:
        due.append(Continue(trial.number, trial.job) if trial.job else Submit(trial.number))
    if free > len(waiting) and len(record.trials) < record.total:
        due.append(Suggest())
    return tuple(due)


def _reached_rung(before: SweepRecord, record: SweepRecord, number: int) -> bool:
    trial = record.trials[number]
    if record.request.pruner is None or not trial.handed or trial.ending is not None:
        return False
    return len(trial.rungs) > len(before.trials[number].rungs)


def _with(record: SweepRecord, trial: TrialRecord) -> SweepRecord:
    trials = (*record.trials[: trial.number], trial, *record.trials[trial.number + 1 :])
    return replace(record, trials=trials)
