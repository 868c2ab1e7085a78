"""Remaining GPU or CPU hours of a Slurm account, as `scontrol show assoc_mgr` has them.

Sites limit them by GrpTRESMins: the GPU or CPU minutes that all jobs of an account (or of a QOS, or of a
parent account) may use together. The remaining time of running jobs counts as used, as with Slurm's `safe`
limits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dtrain_lab.backends.hosts.transport import transport
from dtrain_lab.backends.slurm import partitions
from dtrain_lab.placement import budget
from dtrain_lab.placement.amounts import time_s
from dtrain_lab.wire.jobs.quota import Budget, Unit
from dtrain_lab.wire.processes.submission import Submission

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
    budgets = [budget for name in names for budget in _bounds(text, user, unit, name)]
    return min(budgets, key=lambda b: b.left_hours, default=None)


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
    match = re.match(r"ClusterName=\S* Account=(\S+) UserName=([^\s(]*)", row)
    if match is None or match[2] not in ("", user):
        return None
    return f"the account {match[1]}" if not match[2] else f"your share of the account {match[1]}"


def _amount(row: str, field: str, name: str) -> tuple[float | None, float]:
    """Return a limit (None for no limit) and its used part, in minutes."""
    line = re.search(rf"(?m)\b{field}=(\S*)", row)
    entry = re.search(rf"(?:^|,){re.escape(name)}=(N|\d+)\((\d+(?:\.\d+)?)\)", line[1]) if line else None
    if entry is None:
        return None, 0.0
    return (None if entry[1] == "N" else float(entry[1])), float(entry[2])


async def remaining(submission: Submission) -> Budget | None:
    """Return the account's remaining hours, and the hours that the job may use."""
    plan, options = submission.plan, submission.profile.slurm
    command = ["bash", "-c", SCRIPT, "bash", options.account or "", options.qos or ""]
    answer = (await transport(submission.profile.ssh.login).run(command)).out.decode(errors="replace")
    gpus = sum(min(node.ranks, node.gpus) for node in plan.nodes)
    left = read(answer, "GPU" if gpus else "CPU", partitions.gpu_kind(options.gres or ""))
    amount = gpus or plan.size * (plan.cpus_per_rank or 1)
    limit = time_s(options.time) if options.time is not None else None
    return budget.with_job(left, amount, limit) if left is not None else None
