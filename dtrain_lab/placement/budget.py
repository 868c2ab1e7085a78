"""An account's remaining GPU or CPU hours, and the sentences about them. Pure.

The remaining time of running jobs counts as used.
"""

from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.wire.jobs.finding import Finding
from dtrain_lab.wire.jobs.quota import Budget


def with_job(budget: Budget, amount: int, limit_s: float | None) -> Budget:
    """Add the hours that a job may use to a budget.

    Args:
        budget: the remaining hours.
        amount: number of the job's GPUs or CPUs.
        limit_s: the job's time limit in seconds; None for no limit.
    """
    return budget if limit_s is None else replace(budget, asked_hours=amount * limit_s / 3600)


def finding(budget: Budget) -> Finding | None:
    """Warn about a job that may use more than is left or has no time limit.

    Schedulers may never start such a job (Slurm does not under its `safe` limits).
    """
    if budget.asked_hours is None:
        fix = "Set a time limit: the scheduler may not start a job without one."
        return Finding(
            "warning", "no_time_limit", f"{sentence(budget)} The job has no time limit.", fix, field="time"
        )
    if budget.asked_hours <= budget.left_hours:
        return None
    fix = (
        "The scheduler may not start it, or end it early. "
        f"Ask for less time or fewer {budget.unit}s, or use another account."
    )
    return Finding("warning", "over_budget", sentence(budget), fix, field="time")


def sentence(budget: Budget) -> str:
    """Describe in one sentence what the job may use and what is left."""
    hours, left = f"{budget.unit}-hours", f"{budget.left_hours:,.1f} of {budget.limit_hours:,.1f}"
    if budget.asked_hours is None:
        return f"{budget.holder[0].upper()}{budget.holder[1:]} has {left} {hours} left."
    return f"It may take {budget.asked_hours:,.1f} {hours}; {budget.holder} has {left} left."
