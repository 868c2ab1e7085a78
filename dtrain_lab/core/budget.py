"""Hours that an account of Slurm has left. Pure: reads what `scontrol show assoc_mgr` prints.

Sites bound them by GrpTRESMins: minutes of GPUs or CPUs that all jobs of an account (or QOS, or of an account
above it) may take together. What running jobs may still take is counted as taken, as `safe` limits do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.core.finding import Finding

Unit = Literal["GPU", "CPU"]
LEVELS = 6
"""Accounts above each other that are looked at …"""
WITHIN_S = 10
"""… of a controller that takes no longer than this."""
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
"""Run with the account (empty: the user's own) as `$1` and the QOS as `$2`; silent without accounting."""


class Budget(Struct, frozen=True):
    """Hours of GPUs or CPUs: what the job may take, and what is left.

    `holder`: whose they are, in words ("the account proj").
    """

    unit: Unit
    left_hours: float
    limit_hours: float
    holder: str
    asked_hours: float | None = None


def read(text: str, unit: Unit, kind: str = "") -> Budget | None:
    """The least that is left of all that bound this user; None where nothing does.

    Args:
        text: what `SCRIPT` has printed.
        unit: of the hours.
        kind: of GPUs ("a100"), where the job names one.
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
    """In words; None where the row is another user's."""
    if quality := re.match(r"QOS=([^\s(]+)", row):
        return f"the QOS {quality[1]}"
    known = re.match(r"ClusterName=\S* Account=(\S+) UserName=([^\s(]*)", row)
    if known is None or known[2] not in ("", user):
        return None
    return f"the account {known[1]}" if not known[2] else f"your share of the account {known[1]}"


def _amount(row: str, field: str, name: str) -> tuple[float | None, float]:
    """A limit (None: there is none) and what is taken of it, in minutes."""
    line = re.search(rf"(?m)\b{field}=(\S*)", row)
    entry = re.search(rf"(?:^|,){re.escape(name)}=(N|\d+)\((\d+(?:\.\d+)?)\)", line[1]) if line else None
    if entry is None:
        return None, 0.0
    return (None if entry[1] == "N" else float(entry[1])), float(entry[2])


def asked(budget: Budget, amount: int, limit_s: float | None) -> Budget:
    """With what a job may take.

    Args:
        budget: what is left.
        amount: GPUs or CPUs of the job.
        limit_s: its time limit; None where there is none.
    """
    return budget if limit_s is None else replace(budget, asked_hours=amount * limit_s / 3600)


def finding(budget: Budget) -> Finding | None:
    """A job that may take more than is left, or has no limit: under `safe` limits it would never start."""
    if budget.asked_hours is None:
        fix = "Set one: Slurm may not start a job that could take for ever."
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
    """What it may take, and what is left."""
    hours, left = f"{budget.unit}-hours", f"{budget.left_hours:,.1f} of {budget.limit_hours:,.1f}"
    if budget.asked_hours is None:
        return f"{budget.holder[0].upper()}{budget.holder[1:]} has {left} {hours} left."
    return f"It may take {budget.asked_hours:,.1f} {hours}; {budget.holder} has {left} left."
