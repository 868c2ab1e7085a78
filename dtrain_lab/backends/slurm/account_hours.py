"""Hours that an account may still use, as the scheduler's accounting has them."""

from __future__ import annotations

from dtrain_lab.backends.transport import transport
from dtrain_lab.placement import budget, slurm
from dtrain_lab.wire.jobs.quota import Budget
from dtrain_lab.wire.processes.submission import Submission


async def remaining(submission: Submission) -> Budget | None:
    """Return the account's remaining hours, and the hours that the job may use."""
    plan, options = submission.plan, submission.profile.slurm
    command = ["bash", "-c", budget.SCRIPT, "bash", options.account or "", options.qos or ""]
    told = (await transport(submission.profile.ssh.login).run(command)).out.decode(errors="replace")
    gpus = sum(min(node.ranks, node.gpus) for node in plan.nodes)
    left = budget.read(told, "GPU" if gpus else "CPU", slurm.gpu_kind(options.gres or ""))
    amount = gpus or plan.size * (plan.cpus_per_rank or 1)
    limit = slurm.time_s(options.time) if options.time is not None else None
    return budget.with_job(left, amount, limit) if left is not None else None
