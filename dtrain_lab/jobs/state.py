"""A job as clients see it, derived from its record, its folder and the scheduler's status. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.jobs.job_errors import fails_again, first_error, from_outside
from dtrain_lab.jobs.judgement import (
    HEAD_ENDED,
    LATE_HERE_S,
    LATE_S,
    UNWATCHED,
    answers,
    judged,
    may_run_again,
)
from dtrain_lab.jobs.summary import running, summary_of
from dtrain_lab.metrics.measured_communication import last_of
from dtrain_lab.wire.cluster import Cluster, Phase, Rank, Reason, World
from dtrain_lab.wire.jobs.folder import FolderState, HeadEnd, Live
from dtrain_lab.wire.jobs.job import EndCommand, Job, JobRecord, JobSize
from dtrain_lab.wire.kinds import JOB_ENDED, JobState
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.node_use import Node
from dtrain_lab.wire.status import Status
from dtrain_lab.world.planned_ranks import planned_ranks

STALE_S = 15.0
"""Seconds after which what a job's head has written counts as its past."""
UNSAID_COMMAND_S = 86400.0
"""Seconds after a job's end in which its command may still run, if its back-end can't be asked."""


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
    if requeues and folder.exit is not None and folder.exit.code and may_run_again(record, status):
        folder = replace(folder, exit=None, preempted=False)
    state, reason = judged(record, folder, status, now, LATE_HERE_S if here else LATE_S)
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
        ranks=(live.ranks if fresh or state in JOB_ENDED else tuple(map(_unwatched, live.ranks)))
        if live
        else planned_ranks(plan, "lost" if state in JOB_ENDED else "starting"),
        state=state,
        reason=reason,
        summary=summary_of(record, folder, state, reason, error, ended_at, fresh=fresh),
        metrics=_metrics(live, folder.head_end, fresh=fresh, ended=state in JOB_ENDED),
        scheduler_id=(record.handle.job or None) if record.handle else None,
        exit_code=folder.exit.code if folder.exit else None,
        failed_rank=error.rank if error else None,
        error=error,
        directory=record.directory,
        parent=record.parent,
        owner=record.owner,
        may=_may(state, reason),
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
        fails_again=fails_again(state, error, reason),
        end_command=_end_command(record, folder, status, now) if state in JOB_ENDED else None,
    )


def _end_command(
    record: JobRecord, folder: FolderState, status: Status | None, now: float
) -> EndCommand | None:
    """Return the user's command for the job's end, which the job's script runs after it has told that end."""
    command, result = record.request.notify, folder.end_command
    if not command:
        return None
    if result is not None:
        return EndCommand(command, result.code, result.output if result.code else "")
    if folder.exit is None or status is None:
        return None
    # a scheduler that can't be asked has not ended the job's script
    may_run = status.fate == "unknown" and now - folder.exit.at < UNSAID_COMMAND_S
    return EndCommand(command) if may_run or status.fate == "running" else None


def is_final(job: Job) -> bool:
    """Whether a job stays as it is: it has ended for certain, and so has the user's command for its end.

    Args:
        job: The job.
    """
    runs = job.end_command is not None and job.end_command.exit_code is None
    return job.state in JOB_ENDED and job.state != "lost" and not runs


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


def _metrics(live: Live | None, head_end: HeadEnd | None, *, fresh: bool, ended: bool) -> Metrics:
    """Return a job's metrics: those that are not of now are its last ones, and values as they were logged."""
    metrics = live.metrics if live is not None else Metrics()
    if fresh:
        return metrics
    if live is not None:
        metrics = replace(metrics, verdicts=())
        if not ended and metrics.current:
            metrics = Metrics(
                values=metrics.values,
                averaged=metrics.averaged,
                rank_batch=metrics.rank_batch,
                global_batch=metrics.global_batch,
                accumulated=metrics.accumulated,
                measured=metrics.measured,
                loop=metrics.loop,
                last=last_of(metrics),
                current=False,
            )
        elif not ended:
            metrics = replace(metrics, advice=(), memory_bytes=None)
    if head_end is not None and head_end.step is not None:
        metrics = replace(metrics, values={**metrics.values, **head_end.values, "step": head_end.step})
    return metrics


def _unwatched(rank: Rank) -> Rank:
    """Return a rank of which there is no news: what it is and where, without its figures."""
    state = "busy" if rank.state in ("in collective", "paused", "stuck") else rank.state
    return Rank(rank.rank, rank.node, rank.local_rank, rank.device, rank.pid, state)


def _may(state: JobState, reason: Reason | None) -> tuple[str, ...]:
    if state in JOB_ENDED:
        return ("resume", "duplicate", "delete")
    if state == "running" and reason is not None and reason.code == HEAD_ENDED:
        return ("cancel", "duplicate")
    if state == "running":
        return ("cancel", "stacks", "duplicate")
    return ("duplicate",) if state == "stopping" else ("cancel", "duplicate")


def with_metrics(job: Job, world: Cluster) -> Job:
    """Add the live state of a running job's ranks, as its head reports it.

    Args:
        job: the job as known from its folder and its back-end.
        world: the job's world as its head reports it.
    """
    if job.state not in ("running", "stopping") or not answers(job):
        return job
    measured = replace(job, world=world.world, nodes=world.nodes, ranks=world.ranks, metrics=world.metrics)
    if job.reason == UNWATCHED:  # what its head writes has not been seen, but the head answers
        measured = replace(measured, reason=None)
    if job.state == "stopping":
        return measured
    return replace(measured, summary=running(job.summary.values, job.world.size, world.metrics, world.ranks))
