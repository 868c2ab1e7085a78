"""Why a trial waits, was stopped early or failed: code and values, and the sentence in English."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dtrain_lab.wire.jobs.job import Job
from dtrain_lab.wire.summary import Summary
from dtrain_lab.wire.sweeps import ObjectiveValue, Rung

DELETED = Summary("job_deleted", {}, "The trial's job was deleted.")
CANCELLED = Summary("job_cancelled", {}, "The trial's job was cancelled.")
FAILED = Summary("job_failed", {}, "The trial's job failed.")


def not_finite(objective: str, last: ObjectiveValue) -> Summary:
    """Say that a trial ended with an objective that is NaN or infinite.

    Args:
        objective: Name of the objective.
        last: Its last value, with the step.
    """
    text = f"The last {objective} is {last.value}, at step {last.step}."
    return Summary("not_finite", _at(objective, last), text)


def behind(objective: str, rung: Rung, trials: int) -> Summary:
    """Say why a trial was stopped at a rung.

    Args:
        objective: Name of the objective.
        rung: The trial's report there.
        trials: Number of trials that have reached the rung.
    """
    values = {"objective": objective, "value": rung.value, "step": rung.step, "trials": trials}
    if rung.value is None:
        return Summary("not_finite_early", values, f"{objective} was not finite at step {rung.step}.")
    was = f"{objective} was {rung.value:.6g} at step {rung.step}"
    text = f"{was}, not among the best third of {trials} trials there."
    return Summary("behind", values, text)


def no_objective(objective: str, names: Sequence[str]) -> Summary:
    """Say that a trial has ended without the objective.

    Args:
        objective: Name of the objective.
        names: Names that it has reported.
    """
    reported = f"the trial reported {', '.join(names)}" if names else "the trial reported nothing"
    values = {"objective": objective, "names": list(names)}
    return Summary("no_objective", values, f'"{objective}" was never reported; {reported}.')


def of_job(job: Job) -> Summary | None:
    """Return why a trial's job waits or has failed; None if unknown."""
    if job.state not in ("failed", "lost"):
        return Summary(job.reason.code, {}, job.reason.message) if job.reason is not None else None
    at = job.error
    if job.state == "failed" and at is not None and at.cell and at.line:
        message = at.message.strip().splitlines()[0] if at.message.strip() else ""
        values = {"rank": at.rank, "cell": at.cell, "line": at.line, "type": at.type, "message": message}
        return Summary("rank_failed", values, job.summary.text)
    return job.summary


def _at(objective: str, report: ObjectiveValue) -> dict[str, str | int | float]:
    # JSON has no NaN
    value = report.value if math.isfinite(report.value) else str(report.value)
    return {"objective": objective, "value": value, "step": report.step}
