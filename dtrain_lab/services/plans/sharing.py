"""Whether a job or a trial has more ranks than its machine has slots: it waits for all of them then."""

from __future__ import annotations

from dtrain_lab.cells import rank_sets
from dtrain_lab.placement import slots
from dtrain_lab.wire.jobs.finding import Finding
from dtrain_lab.wire.plan import Facts, NodeFacts, Plan, Request


def shared(plan: Plan, facts: Facts, request: Request) -> tuple[Finding, ...]:
    """Find that ranks share slots of this machine. On hosts there is no plan of more ranks than have room.

    Args:
        plan: The plan.
        facts: What it was made from.
        request: The size that was asked for.
    """
    if not isinstance(facts, NodeFacts):
        return ()
    # GPUs that the profile hides are no slots of this job, and without any of them it waits for none
    room = slots.total(facts, plan.nodes[0].gpus)
    if not 0 < room < plan.size:
        return ()
    kind = "GPU" if facts.gpus else "slot"
    most = "1 rank" if room == 1 else f"at most {room} ranks"
    have, are = (
        (f"one {kind}", f"this {kind} is") if room == 1 else (f"{room} {kind}s", f"all {room} {kind}s are")
    )
    return (
        Finding(
            "warning",
            "shares_slots",
            f"{rank_sets.count(plan.size)} share the {have} of this machine.",
            f"It starts once {are} free. Ask for {most} to avoid sharing.",
            field="ranks" if request.ranks is not None else "ranks_per_node",
        ),
    )
