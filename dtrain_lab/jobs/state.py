"""State of a job, derived from its record, its folder and the scheduler's status. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.jobs.job_errors import first_error, from_outside
from dtrain_lab.jobs.summary import running, summary_of
from dtrain_lab.wire.cluster import Cluster, Phase, Rank, Reason, World
from dtrain_lab.wire.jobs.folder import FolderState
from dtrain_lab.wire.jobs.job import Job, JobRecord, JobSize
from dtrain_lab.wire.kinds import JOB_ENDED, JobState
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.node_use import Node
from dtrain_lab.wire.status import Status

LOST_AFTER_S = 60.0
"""Seconds for which an interrupted submission may still be found by its mark."""
TAKEN_WITHIN_S = 900.0
"""The same if the scheduler has not confirmed the job: a slow one may accept it late."""
UNSAID = Reason(
    "maybe_submitted",
    "The scheduler has not confirmed the job yet.",
    "dtrain-lab keeps asking.",
)
LATE_S = 20.0
"""Seconds after a job's last sign of life in which a network file system may still hide its exit file."""
LATE_HERE_S = 2.0
"""The same on a local disk, which hides nothing: leftover processes need a moment to end."""
UNSAID_S = 600.0
"""Seconds for which other hosts may be unreachable after the first host is done."""
STALE_S = 15.0
PREEMPTED = Reason("preempted", "A job of higher priority took its nodes.", "Start it again.", final=True)
NOT_ASKED = Reason(
    "not_asked", "The machine where the job runs doesn't answer now.", "dtrain-lab keeps asking."
)


def job(
    record: JobRecord,
    folder: FolderState,
    status: Status | None,
    now: float,
    *,
    here: bool = False,
    limit_s: float | None = None,
    requeues: bool = False,
) -> Job:
    """Derive the current state of a job.

    Args:
        record: the job's record.
        folder: contents of its folder.
        status: status of its process or scheduler's job; None if there is none yet.
        now: current time, in seconds since 1970.
        here: whether it ran on this machine, and its folder is on a disk of this machine.
        limit_s: seconds after its start at which its back-end ends it; None for no limit.
        requeues: whether its back-end may run it again after it has failed.
    """
    if requeues and folder.exit is not None and folder.exit.code and _may_run_again(record, status):
        folder = replace(folder, exit=None, preempted=False)
    state, reason = _state(record, folder, status, now, LATE_HERE_S if here else LATE_S)
    failed = state in ("failed", "cancelled") and not from_outside(folder)
    error = first_error(folder.errors) if failed else None
    live = folder.live if folder.live is not None and folder.live.at >= (folder.started_at or 0) else None
    fresh = live is not None and now - live.at < STALE_S and state in ("running", "stopping")
    ended_at = _ended_at(folder, record, now) if state in JOB_ENDED else None
    plan = record.plan
    return Job(
        id=record.id,
        name=record.name,
        backend=plan.backend,
        profile=plan.profile,
        notebook=record.request.notebook,
        size=JobSize(len(plan.nodes), plan.nodes[0].ranks),
        world=World(plan.size, live.generation if live else 0),
        nodes=live.nodes
        if live and live.nodes
        else tuple(Node(n.name, n.address, state) for n in plan.nodes),
        ranks=live.ranks if live else _ranks(record, state),
        state=state,
        reason=reason,
        summary=summary_of(record, folder, state, reason, error, ended_at, fresh=fresh),
        metrics=(live.metrics if fresh else replace(live.metrics, verdicts=())) if live else Metrics(),
        scheduler_id=(record.handle.job or None) if record.handle else None,
        exit_code=folder.exit.code if folder.exit else None,
        failed_rank=error.rank if error else None,
        error=error,
        directory=record.directory,
        parent=record.parent,
        owner=record.owner,
        may=_may(state, folder),
        progress=_progress(folder, now if state not in JOB_ENDED else ended_at or now),
        checkpoint_step=folder.checkpoint_step,
        created_at=record.created_at,
        started_at=folder.started_at,
        ended_at=ended_at,
        ends_at=_ends_at(folder, limit_s) if state in ("starting", "running", "stopping") else None,
        parameters=record.request.parameters,
        attempt=folder.attempt,
        sweep=record.request.sweep,
        begins_again=record.begins_again,
        resumed_step=record.resumed_step,
        source=record.source,
    )


def _state(
    record: JobRecord, folder: FolderState, status: Status | None, now: float, late_s: float
) -> tuple[JobState, Reason | None]:
    if record.problem is not None:
        return "failed", Reason("not_submitted", *record.problem, final=True)
    over = folder.exit is not None or (status is not None and status.fate == "ended")
    if over and record.cancelled_at is not None and not (folder.exit and folder.exit.code == 0):
        return "cancelled", None
    if folder.exit is not None:
        if folder.exit.code == 0:
            return _all_ended(record, folder, status, folder.exit.at, now)
        if folder.preempted:
            return "failed", PREEMPTED
        return "failed", status.reason if status is not None else None
    if record.handle is None:
        return _not_taken(record, status, now)
    if status is None or status.fate == "unknown":
        why = (status.reason if status is not None else None) or NOT_ASKED
        running: JobState = "running" if folder.started_at else "queued"
        return (running if record.cancelled_at is None else "stopping"), why
    if status.fate == "ended":
        reason = status.reason
        if reason is not None and reason.code == "cancelled":
            return "cancelled", reason
        if reason is not None:
            return "failed", reason
        failed = folder.errors and not from_outside(folder)
        if failed or any(end.code for end in folder.node_exits):
            return "failed", None
        if now - _last_alive_at(record, folder) < late_s:
            hint = f"It counts as lost {late_s:.0f} s after its last sign of life without an exit code."
            return "running", Reason("ending", "The job's processes have ended without an exit code.", hint)
        return ("failed" if folder.node_exits else "lost"), None
    if record.cancelled_at is not None:
        return "stopping", None
    if status.fate == "pending":
        return "queued", status.reason
    if folder.waiting is not None and folder.started_at is None:
        return "queued", folder.waiting
    if (
        folder.started_at is None
        or folder.live is None
        or not any(r.state != "starting" for r in folder.live.ranks)
    ):
        young = folder.started_at is None or now - folder.started_at < LOST_AFTER_S
        return ("starting" if young else "running"), None
    return "running", None


def _may_run_again(record: JobRecord, status: Status | None) -> bool:
    """Whether a scheduler that requeues jobs may run one again that has failed.

    A job that is requeued keeps the exit file of its previous run until its script starts again.
    """
    return record.cancelled_at is None and status is not None and status.fate != "ended"


def _not_taken(record: JobRecord, status: Status | None, now: float) -> tuple[JobState, Reason | None]:
    """State of a job that no back-end has accepted: its submission is in progress or was interrupted."""
    cancelled = record.cancelled_at is not None
    if status is not None and status.fate == "unknown":
        return ("stopping" if cancelled else "planned"), status.reason
    scheduler = record.plan.traits.schedules
    if now - record.created_at <= (TAKEN_WITHIN_S if scheduler else LOST_AFTER_S):
        return ("stopping" if cancelled else "planned"), UNSAID if scheduler else None
    return ("cancelled" if cancelled else "lost"), None


def _last_alive_at(record: JobRecord, folder: FolderState) -> float:
    """Return the time of the job's last sign of life, in seconds since 1970."""
    signs = (folder.live, folder.doing)
    times = [folder.started_at or 0.0, *(sign.at for sign in signs if sign is not None)]
    return max(record.created_at, *times)


def _all_ended(
    record: JobRecord, folder: FolderState, status: Status | None, at: float, now: float
) -> tuple[JobState, Reason | None]:
    """State of a job whose first host succeeded.

    If each host runs its own script, the other hosts must succeed too.
    """
    if any(end.code for end in folder.node_exits):
        return "failed", None
    others = 0 if record.plan.traits.shares_folder else len(record.plan.nodes) - 1
    missing = others - len(folder.node_exits)
    if missing <= 0:
        return "succeeded", None
    hosts = f"{missing} host{'s have' if missing > 1 else ' has'} not"
    if status is not None and status.fate == "unknown" and now - at < UNSAID_S:
        return "running", status.reason or NOT_ASKED
    if now - at < LOST_AFTER_S or status is None or status.fate == "running":
        return "running", Reason("ending", f"The first host has finished; {hosts} ended yet.", "")
    text, hint = f"{hosts} reported how it ended.", "Look at that host's log in the job's folder."
    return "failed", Reason("silent_end", text, hint, final=True)


def _ended_at(folder: FolderState, record: JobRecord, now: float) -> float | None:
    if folder.exit is not None:
        return max([folder.exit.at, *(end.at for end in folder.node_exits)])
    times = [e.at for e in folder.node_exits] + [e.time for e in folder.errors if e.time]
    return max(times, default=record.cancelled_at or (folder.live.at if folder.live else None))


def _ends_at(folder: FolderState, limit_s: float | None) -> float | None:
    """Return when the job's time limit ends it, in seconds since 1970; None for no limit."""
    return folder.started_at + limit_s if limit_s is not None and folder.started_at is not None else None


def _progress(folder: FolderState, now: float) -> tuple[Phase, ...]:
    """Return the progress: first in bytes copied to the nodes, then in cells begun."""
    if folder.started_at is None and folder.staging:
        done, total = (sum(getattr(s, key) for s in folder.staging) for key in ("done", "total"))
        return (Phase("staging", done, total, 0.0),)
    doing = folder.doing
    if doing is None or folder.started_at is None:
        return ()
    return (Phase("cells", doing.index, doing.total, max(0.0, now - folder.started_at)),)


def _may(state: JobState, folder: FolderState) -> tuple[str, ...]:
    if state in JOB_ENDED:
        return ("resume", "duplicate", "delete")
    if state == "running":
        return ("cancel", "stacks", "duplicate")
    return ("duplicate",) if state == "stopping" else ("cancel", "duplicate")


def _ranks(record: JobRecord, state: JobState) -> tuple[Rank, ...]:
    phase = "lost" if state in JOB_ENDED else "starting"
    return tuple(
        Rank(
            node.first_rank + local,
            node.name,
            local,
            f"cuda:{local % node.gpus}" if node.gpus else "cpu",
            None,
            phase,  # type: ignore[arg-type]
        )
        for node in record.plan.nodes
        for local in range(node.ranks)
    )


def with_metrics(job: Job, world: Cluster) -> Job:
    """Add the live state of a running job's ranks, as its head reports it.

    Args:
        job: the job as known from its folder and its back-end.
        world: the job's world as its head reports it.
    """
    if job.state not in ("running", "stopping"):
        return job
    known = replace(job, world=world.world, nodes=world.nodes, ranks=world.ranks, metrics=world.metrics)
    if job.state == "stopping":
        return known
    return replace(known, summary=running(job.summary.values, job.world.size, world.metrics, world.ranks))
