"""State of a cluster whose head does not listen yet or does not answer, as clients show it meanwhile."""

from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.wire.cluster import Cluster, Phase, Reason, World
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.node_use import Node
from dtrain_lab.wire.processes.head_record import HeadRecord, SubmittedWorld
from dtrain_lab.wire.status import Status
from dtrain_lab.wire.summary import Summary
from dtrain_lab.world.planned_ranks import planned_ranks

NOT_SUBMITTED = ("Its start was interrupted before it was submitted.", "Start it again.")
"""Problem of a cluster whose back-end has never accepted it: message and hint."""


def without_head(
    record: HeadRecord, remote: SubmittedWorld, status: Status, since_s: float, *, lost: bool
) -> Cluster:
    """Build the cluster's state from its record and from the back-end's last status.

    Args:
        record: Record of the head.
        remote: How the cluster was started, and why it ended before it was ready.
        status: Last status from its back-end.
        since_s: Seconds that this client has waited for the head.
        lost: Whether the connection to the head was lost, or the first one has taken too long.
    """
    plan, name, reason = remote.plan, record.name, status.reason
    if remote.problem is not None:
        state, text = "failed", f"{name} did not start."
        reason = Reason("not_started", remote.problem[0], remote.problem[1], final=True)
    elif remote.handle is None:
        state, text = "pending", f"{name} is being submitted."
    elif remote.handle.endpoints is not None and lost:
        state, text = "starting", f"{name} can't be reached now. Its ranks keep running; no output is lost."
    elif remote.handle.endpoints is not None or status.fate == "running":
        state, text = "starting", f"{name} starts on its nodes."
    else:
        state, text = "pending", f"{name} waits in the queue."
    return Cluster(
        id=record.id,
        name=name,
        profile=remote.profile.name,
        state=state,  # type: ignore[arg-type]
        reason=replace(reason, since_s=since_s) if reason is not None else None,
        summary=Summary(f"remote_{state}", {"name": name}, text),
        world=World(plan.size, 0),
        nodes=tuple(Node(node.name, node.address, state) for node in plan.nodes),
        ranks=planned_ranks(plan),
        metrics=Metrics(),
        progress=(Phase("queue", 0, 1, since_s),),
        notebooks=(),
        owner=remote.owner,
        may=("stop",) if remote.problem is None else ("remove",),
        created_at=record.created_at,
    )


def ended_early(reason: Reason | None, log: str) -> tuple[str, str]:
    """Say why a cluster ended before its head listened.

    Args:
        reason: The scheduler's reason, if it has one.
        log: Text of the launcher's log.

    Returns:
        Message and hint.
    """
    message = reason.message if reason is not None else "It ended before it was ready."
    lines = [line for line in log.splitlines() if line.strip()]
    # srun's last line only says that a task has ended; the cause may stand before or after it
    telling = [line for line in lines if not line.startswith("srun: error:")] or lines
    if telling:
        return message, f"Its log ends: {telling[-1]}"
    return message, reason.hint if reason is not None else ""
