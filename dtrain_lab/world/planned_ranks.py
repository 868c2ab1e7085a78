"""The ranks of a planned world, as clients see them before their processes have started. Pure."""

from __future__ import annotations

from dtrain_lab.placement.devices import device_name
from dtrain_lab.wire.cluster import Rank
from dtrain_lab.wire.kinds import RankPhase
from dtrain_lab.wire.plan import Plan


def planned_ranks(plan: Plan, state: RankPhase = "starting") -> tuple[Rank, ...]:
    """Return the ranks of a plan, in order, with their nodes and devices.

    Args:
        plan: The plan of a cluster or a job.
        state: State that each of them has.
    """
    return tuple(
        Rank(
            rank=node.first_rank + local,
            node=node.name,
            local_rank=local,
            device=device_name(local, node.gpus),
            pid=None,
            state=state,
        )
        for node in plan.nodes
        for local in range(node.ranks)
    )
