"""A sweep as clients show it, with its state in one sentence."""

from __future__ import annotations

from dtrain_lab.sweeps.space import parse, written
from dtrain_lab.sweeps.times import RUNS, ran_s, sweep_ran_s
from dtrain_lab.text.state_words import word
from dtrain_lab.text.units import counted, whole_duration
from dtrain_lab.wire.kinds import SWEEP_PARTLY_SUCCEEDED
from dtrain_lab.wire.summary import Summary
from dtrain_lab.wire.sweeps import SWEEP_ENDED, Importance, Sweep, SweepRecord, Trial, TrialRecord


def best(record: SweepRecord) -> TrialRecord | None:
    """Return the successful trial with the best objective; None if none has succeeded."""
    done = [trial for trial in record.trials if trial.state == "succeeded" and trial.value is not None]
    sign = 1 if record.request.direction == "minimize" else -1
    return min(done, key=lambda trial: (sign * (trial.value or 0.0), trial.number), default=None)


def can_resume(record: SweepRecord) -> bool:
    """Whether a sweep that has ended has trials left to run."""
    left = len(record.trials) < record.total or any(t.state in ("stopped", "waiting") for t in record.trials)
    return record.state in ("stopped", "failed") and left


def actions(record: SweepRecord) -> tuple[str, ...]:
    """Return what can be done with a sweep in its state."""
    if record.state not in SWEEP_ENDED:
        return ("stop",) if record.state == "running" else ()
    return ("resume", "delete") if can_resume(record) else ("delete",)


def shown(record: SweepRecord, directory: str, now: float, importance: Importance | None = None) -> Sweep:
    """Return a sweep as clients show it.

    Args:
        record: The sweep's record.
        directory: Its folder.
        now: The time, in seconds since 1970.
        importance: Importance of its parameters; None in lists.
    """
    request, leader = record.request, best(record)
    return Sweep(
        id=record.id,
        name=record.name,
        notebook=request.notebook,
        profile=request.profile,
        size=record.size,
        state=record.state,
        reason=record.reason,
        summary=summary(record),
        objective=request.objective,
        direction=request.direction,
        sampler=request.sampler,
        pruner=request.pruner,
        space=written(parse(request.space)),
        parameters=request.parameters,
        total=record.total,
        parallel=record.parallel,
        trials=tuple(_trial(trial, now) for trial in record.trials),
        best=None if leader is None else _trial(leader, now),
        importance=importance,
        directory=directory,
        owner=record.owner,
        may=actions(record),
        created_at=record.created_at,
        ended_at=record.ended_at,
        ran_s=sweep_ran_s(record.trials, now),
        source=record.source,
    )


def trial_word(trial: Trial) -> str:
    """Return a trial's state in words: one that was continued has resumed at a step, or started over."""
    if trial.state != "resumed":
        return word(trial.state)
    return "started over" if trial.resumed_step is None else f"resumed at step {trial.resumed_step:,}"


def progress(sweep: Sweep) -> str:
    """Return a sweep's progress, as `Sweep.wait` shows it: "train: 1 of 4 trials done. 2 running, for 12 s.".

    Args:
        sweep: The sweep.
    """
    text = f"{sweep.name}: {sweep.summary.text}"
    running = sum(trial.state in RUNS for trial in sweep.trials)
    if sweep.state in SWEEP_ENDED or not running:
        return text
    took = "" if sweep.ran_s is None else f", for {whole_duration(sweep.ran_s)}"
    return f"{text} {running} running{took}."


def _trial(trial: TrialRecord, now: float) -> Trial:
    """Return a trial as clients show it, without what only its driver needs."""
    fields = {field: getattr(trial, field) for field in Trial.__struct_fields__}
    return Trial(**{**fields, "ran_s": ran_s(trial, now)})


def summary(record: SweepRecord) -> Summary:
    """Summarize a sweep in one sentence, as "9 of 16 trials done; best loss 0.213 in trial 6.".

    Trials that were stopped early are named: "8 of 16 trials done, 1 stopped early". The values of the
    summary are the numbers of the sentence: `done` counts the trials that it calls done. `ended` counts those
    that will not run again: done, stopped early (`early`) or failed. A sweep that has succeeded, though some
    of its trials have not, is called finished, not done, and has a code of its own.
    """
    early = sum(trial.state == "pruned" for trial in record.trials)
    done = sum(trial.state == "succeeded" for trial in record.trials)
    failed = sum(trial.state == "failed" for trial in record.trials)
    found = best(record)
    values = {"done": done, "total": record.total, "failed": failed, "early": early}
    values["ended"] = done + early + failed
    text = f"{done} of {counted(record.total, 'trial')} done"
    if early:
        text += f", {early} stopped early"
    if failed:
        text += f", {failed} failed"
    if found is not None and found.value is not None:
        values |= {"value": found.value, "trial": found.number}  # type: ignore[dict-item]
        text += f"; best {record.request.objective} {found.value:.4g} in trial {found.number}"
    partly = record.state == "succeeded" and done + early < record.total
    leads = {"stopping": "Stopping: ", "stopped": "Stopped: ", "failed": "Failed: "}
    text = f"{'Finished: ' if partly else leads.get(record.state, '')}{text}."
    if record.reason is not None:
        text = f"{text} {record.reason.message}"
    return Summary(SWEEP_PARTLY_SUCCEEDED if partly else f"sweep_{record.state}", values, text)
