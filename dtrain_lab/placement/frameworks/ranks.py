"""Variables of a rank, of any framework: the one function that node agents ask."""

from __future__ import annotations

from msgspec import Struct

from dtrain_lab.wire.jobs.framework import FrameworkPlan


class Started(Struct, frozen=True):
    """What is known when the ranks of a job are started.

    `nodes`: address of each node, in order. `per_node`: ranks on each. `port`: first port of the job. On one
    machine those after it are free, too; elsewhere the agents look at those of their ranks.
    """

    nodes: tuple[str, ...]
    per_node: int
    port: int

    @property
    def size(self) -> int:
        """World size."""
        return len(self.nodes) * self.per_node

    def address(self, rank: int) -> str:
        """Address of a rank's process: each has a port of its own, as simulated nodes share a machine."""
        return f"{self.nodes[rank // self.per_node]}:{self.port + rank}"


def variables(plan: FrameworkPlan, started: Started, rank: int) -> dict[str, str]:
    """Return the variables by which a rank finds the others.

    Args:
        plan: the job's.
        started: nodes and ports of this start.
        rank: number of the rank.
    """
    from dtrain_lab.placement.frameworks import mindspore, tensorflow

    if plan.name == "tensorflow":
        return tensorflow.variables(plan, started, rank)
    return mindspore.worker(started, rank) if plan.name == "mindspore" else {}


def ports(plan: FrameworkPlan | None, size: int) -> int:
    """Return how many ports in a row a job needs on its nodes."""
    return size if plan is not None and plan.name == "tensorflow" and plan.roles else 1


def listens(plan: FrameworkPlan, rank: int) -> bool:
    """Whether a rank listens on a port of its own, that of `Started.address`."""
    return plan.name == "tensorflow" and bool(plan.roles) and plan.roles[rank] != "evaluator"
