"""Remaining GPU or CPU hours of a Slurm account, parsed from `scontrol show assoc_mgr`. Pure.

Sites limit them by GrpTRESMins: the GPU or CPU minutes that all jobs of an account (or of a QOS, or of a
parent account) may use together. The remaining time of running jobs counts as used, as with Slurm's `safe`
limits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from dtrain_lab.wire.jobs.finding import Finding
from dtrain_lab.wire.jobs.quota import Budget, Unit

LEVELS = 6
"""Maximum number of account levels, from the user's account up to its parents, that are read."""
WITHIN_S = 10
"""No further level is read once this many seconds have passed."""
ASK = "timeout 5 scontrol show assoc_mgr"
SCRIPT = f"""id -un
account=$1
[ -n "$account" ] ||
  account=$({ASK} flags=users users="$(id -un)" | sed -n 's/.*DefAccount=\\([^ ]*\\).*/\\1/p' | head -n 1)
for level in $(seq {LEVELS}); do
  [ -n "$account" ] && [ $SECONDS -lt {WITHIN_S} ] || break
  rows=$({ASK} flags=assoc accounts="$account"); printf '%s\\n' "$rows"
  account=$(printf '%s\\n' "$rows" | sed -n 's/.*ParentAccount=\\([^ (]\\{{1,\\}}\\).*/\\1/p' | head -n 1)
done
[ -z "$2" ] || {ASK} flags=qos qos="$2"
true"""
"""Run with the account (empty for the user's default) as `$1` and the QOS as `$2`; prints nothing of use
without accounting."""


def read(text: str, unit: Unit, kind: str = "") -> Budget | None:
    """Find the tightest budget among those that apply to the user.

    Args:
        text: output of `SCRIPT`.
        unit: unit of the hours.
        kind: kind of GPUs ("a100"), if the job names one.

    Returns:
        The budget with the fewest hours left; None if none applies.
    """
    user, _, text = text.partition("\n")
    names = {"CPU": ("cpu",), "GPU": ("gres/gpu", *((f"gres/gpu:{kind}",) if kind else ()))}[unit]
    found = [budget for name in names for budget in _bounds(text, user, unit, name)]
    return min(found, key=lambda b: b.left_hours, default=None)


def _bounds(text: str, user: str, unit: Unit, name: str) -> Iterator[Budget]:
    for row in re.split(r"(?m)^(?=ClusterName=|QOS=)", text):
        holder = _holder(row, user)
        limit, used = _amount(row, "GrpTRESMins", name)
        _, runs = _amount(row, "GrpTRESRunMins", name)
        if holder and limit is not None:
            yield Budget(unit, max(0.0, limit - used - runs) / 60, limit / 60, holder)


def _holder(row: str, user: str) -> str | None:
    """Describe the owner of a row's budget; None if it is another user's."""
    if quality := re.match(r"QOS=([^\s(]+)", row):
        return f"the QOS {quality[1]}"
    known = re.match(r"ClusterName=\S* Account=(\S+) UserName=([^\s(]*)", row)
    if known is None or known[2] not in ("", user):
        return None
    return f"the account {known[1]}" if not known[2] else f"your share of the account {known[1]}"


def _amount(row: str, field: str, name: str) -> tuple[float | None, float]:
    """Return a limit (None for no limit) and its used part, in minutes."""
    line = re.search(rf"(?m)\b{field}=(\S*)", row)
    entry = re.search(rf"(?:^|,){re.escape(name)}=(N|\d+)\((\d+(?:\.\d+)?)\)", line[1]) if line else None
    if entry is None:
        return None, 0.0
    return (None if entry[1] == "N" else float(entry[1])), float(entry[2])


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

    Under Slurm's `safe` limits such a job would never start.
    """
    if budget.asked_hours is None:
        fix = "Set a time limit: Slurm may not start a job without one."
        return Finding(
            "warning", "no_time_limit", f"{sentence(budget)} The job has no time limit.", fix, field="time"
        )
    if budget.asked_hours <= budget.left_hours:
        return None
    fix = (
        "Slurm may not start it, or end it early. "
        f"Ask for less time or fewer {budget.unit}s, or use another account."
    )
    return Finding("warning", "over_budget", sentence(budget), fix, field="time")


def sentence(budget: Budget) -> str:
    """Describe in one sentence what the job may use and what is left."""
    hours, left = f"{budget.unit}-hours", f"{budget.left_hours:,.1f} of {budget.limit_hours:,.1f}"
    if budget.asked_hours is None:
        return f"{budget.holder[0].upper()}{budget.holder[1:]} has {left} {hours} left."
    return f"It may take {budget.asked_hours:,.1f} {hours}; {budget.holder} has {left} left."
