"""Variables of a rank, for any framework; called by node agents."""

from __future__ import annotations

from dtrain_lab.placement.frameworks import mindspore, tensorflow
from dtrain_lab.placement.frameworks.started import Started
from dtrain_lab.wire.jobs.framework import FrameworkPlan


def variables(plan: FrameworkPlan, started: Started, rank: int) -> dict[str, str]:
    """Return the variables by which a rank finds the others.

    Args:
        plan: the job's.
        started: nodes and ports of this start.
        rank: number of the rank.
    """
    if plan.name == "tensorflow":
        return tensorflow.variables(plan, started, rank)
    return mindspore.worker(started, rank) if plan.name == "mindspore" else {}


def ports(plan: FrameworkPlan | None, size: int) -> int:
    """Return the number of consecutive ports that a job needs on its nodes.

    Args:
        plan: The framework's part of the job's plan; None for torch.
        size: Number of ranks.
    """
    return size if plan is not None and plan.name == "tensorflow" and plan.roles else 1


def listens(plan: FrameworkPlan, rank: int) -> bool:
    """Whether a rank listens on its own port, that of `Started.address`.

    Args:
        plan: The framework's part of the job's plan, with the ranks' roles.
        rank: Number of the rank.
    """
    return plan.name == "tensorflow" and bool(plan.roles) and plan.roles[rank] != "evaluator"
