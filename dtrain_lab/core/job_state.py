"""How a job stands: from its record, its folder, and what the scheduler says. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.core import ranks as rank_names
from dtrain_lab.core import slurm
from dtrain_lab.core.amounts import duration, size_text
from dtrain_lab.core.cells import CONNECTION_ERRORS
from dtrain_lab.core.cluster import Metrics, Node, Phase, Rank, Reason, Summary, World
from dtrain_lab.core.job import Found, Job, JobError, JobRecord, JobSize
from dtrain_lab.core.kinds import JOB_ENDED, JobState
from dtrain_lab.core.status import Status

LOST_AFTER_S = 60.0
"""A submission that was cut off may be found by its mark for so long."""
STALE_S = 15.0
NOT_ASKED = Reason("not_asked", "The place where it runs can't be asked now.", "It is asked again by itself.")


def first_error(errors: tuple[JobError, ...]) -> JobError | None:
    """The earliest error that no other explains.

    A rank whose peer has ended gets "Connection closed by peer": an effect. Where nothing else is known, the
    earliest of these is all there is.
    """
    real = [e for e in errors if not follows(e)]
    return min(real or errors, key=lambda e: e.time, default=None)


def traceback_mark(error: JobError) -> str:
    """What the log has where this error is: " 3 e Traceback", or the beginning of its last line."""
    if error.traceback:
        return f" {error.rank} e {error.traceback[-1][:60]}"
    return f" {error.rank} e "


def follows(error: JobError) -> bool:
    """This rank failed because another one had ended, or was ended."""
    text = error.message.lower()
    return any(known in text for known in CONNECTION_ERRORS) or error.type in ("Stopped", "DistStoreError")


def job(record: JobRecord, found: Found, status: Status | None, now: float) -> Job:
    """The job, now.

    Args:
        record: its truth.
        found: in its folder.
        status: of its process or scheduler's job; None where nobody could be asked.
        now: seconds since 1970.
    """
    state, reason = _state(record, found, status, now)
    error = first_error(found.errors) if state in ("failed", "cancelled") else None
    live = found.live if found.live is not None and found.live.at >= (found.started_at or 0) else None
    fresh = live is not None and now - live.at < STALE_S and state in ("running", "stopping")
    ended_at = _ended_at(found, record, now) if state in JOB_ENDED else None
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
        summary=_summary(record, found, state, reason, error, ended_at, fresh=fresh),
        metrics=(live.metrics if fresh else replace(live.metrics, verdicts=())) if live else Metrics(),
        scheduler_id=(record.handle.job or None) if record.handle else None,
        exit_code=found.exit.code if found.exit else None,
        failed_rank=error.rank if error else None,
        error=error,
        directory=record.directory,
        parent=record.parent,
        owner=record.owner,
        may=_may(state, found),
        progress=_progress(found, now if state not in JOB_ENDED else ended_at or now),
        checkpoint_step=found.checkpoint_step,
        created_at=record.created_at,
        started_at=found.started_at,
        ended_at=ended_at,
        ends_at=_ends_at(record, found) if state in ("starting", "running", "stopping") else None,
        parameters=record.request.parameters,
        attempt=found.attempt,
    )


def _state(
    record: JobRecord, found: Found, status: Status | None, now: float
) -> tuple[JobState, Reason | None]:
    if record.problem is not None:
        return "failed", Reason("not_submitted", *record.problem, final=True)
    over = found.exit is not None or (status is not None and status.fate == "ended")
    if over and record.cancelled_at is not None and not (found.exit and found.exit.code == 0):
        return "cancelled", None
    if found.exit is not None:
        if found.exit.code == 0:
            return _all_ended(record, found, status, found.exit.at, now)
        if found.preempted:
            return "failed", slurm.reason("None", "PREEMPTED")
        return "failed", status.reason if status is not None else None
    if record.handle is None:
        return ("lost" if now - record.created_at > LOST_AFTER_S else "planned"), None
    if status is None:
        running: JobState = "running" if found.started_at else "queued"
        return (running if record.cancelled_at is None else "stopping"), NOT_ASKED
    if status.fate == "ended":
        reason = status.reason
        if reason is not None and reason.code == "cancelled":
            return "cancelled", reason
        if reason is not None:
            return "failed", reason
        return ("failed" if found.errors or found.node_exits else "lost"), None
    if record.cancelled_at is not None:
        return "stopping", None
    if status.fate == "pending":
        return "queued", status.reason
    if found.waiting is not None and found.started_at is None:
        return "queued", found.waiting
    if (
        found.started_at is None
        or found.live is None
        or not any(r.state != "starting" for r in found.live.ranks)
    ):
        young = found.started_at is None or now - found.started_at < LOST_AFTER_S
        return ("starting" if young else "running"), None
    return "running", None


def _all_ended(
    record: JobRecord, found: Found, status: Status | None, at: float, now: float
) -> tuple[JobState, Reason | None]:
    """The first host ended well; where each host has a script of its own, the others' ends count, too."""
    if any(end.code for end in found.node_exits):
        return "failed", None
    others = len(record.plan.nodes) - 1 if record.plan.backend == "ssh" else 0
    missing = others - len(found.node_exits)
    if missing <= 0:
        return "succeeded", None
    hosts = f"{missing} host{'s have' if missing > 1 else ' has'} not"
    if now - at < LOST_AFTER_S or status is None or status.fate == "running":
        return "running", Reason("ending", f"The first host is done; {hosts} ended yet.", "")
    text, hint = f"{hosts} said how it ended.", "Look at that host's log in the job's folder."
    return "failed", Reason("silent_end", text, hint, final=True)


def _ended_at(found: Found, record: JobRecord, now: float) -> float | None:
    if found.exit is not None:
        return max([found.exit.at, *(end.at for end in found.node_exits)])
    times = [e.at for e in found.node_exits] + [e.time for e in found.errors if e.time]
    return max(times, default=record.cancelled_at or (found.live.at if found.live else None))


def _ends_at(record: JobRecord, found: Found) -> float | None:
    """When its time limit is over."""
    limit = record.profile.slurm.time
    seconds = slurm.time_s(limit) if limit is not None and record.plan.backend == "slurm" else None
    return found.started_at + seconds if seconds is not None and found.started_at is not None else None


def _progress(found: Found, now: float) -> tuple[Phase, ...]:
    """Bytes that were copied to the nodes, of all; then cells that have begun, of all."""
    if found.started_at is None and found.staging:
        done, total = (sum(getattr(s, key) for s in found.staging) for key in ("done", "total"))
        return (Phase("staging", done, total, 0.0),)
    doing = found.doing
    if doing is None or found.started_at is None:
        return ()
    return (Phase("cells", doing.index, doing.total, max(0.0, now - found.started_at)),)


def _may(state: JobState, found: Found) -> tuple[str, ...]:
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


def _summary(
    record: JobRecord,
    found: Found,
    state: JobState,
    reason: Reason | None,
    error: JobError | None,
    ended_at: float | None,
    *,
    fresh: bool,
) -> Summary:
    """The one sentence."""
    size = record.plan.size
    took = duration(ended_at - found.started_at) if ended_at and found.started_at else ""
    after = f" after {took}" if took else ""
    values = {"name": record.name, "took": took, "total": size}
    if state == "failed":
        why = _why(found, reason, error)
        text = f"Failed{after}: {why}" if found.started_at else f"It did not start: {why}"
        return Summary("job_failed", {**values, "why": why}, text)
    if state == "succeeded":
        return Summary("job_succeeded", values, f"Done{after}.")
    if state == "cancelled":
        return Summary("job_cancelled", values, f"Cancelled{after}.")
    if state == "lost":
        text = "Lost: nothing is known of it any more. Its folder has what it wrote."
        return Summary("job_lost", values, text)
    if state == "queued":
        text = f"Waiting to start. {reason.message}" if reason else "Waiting to start."
        return Summary("job_queued", {**values, "reason": reason.message if reason else ""}, text)
    if state == "starting" and found.started_at is None and found.staging:
        done, total = (size_text(sum(getattr(s, key) for s in found.staging)) for key in ("done", "total"))
        nodes = len(record.plan.nodes)
        text = f"Copying data to {nodes} node{'s' if nodes > 1 else ''}: {done} of {total}."
        return Summary("job_staging", {**values, "done": done, "bytes": total}, text)
    if state in ("planned", "starting"):
        return Summary(f"job_{state}", values, f"Starting {rank_names.count(size)}.")
    if state == "stopping":
        return Summary("job_stopping", values, "Stopping.")
    live = found.live
    verdicts = live.metrics.verdicts if live and fresh else ()
    if verdicts:
        return Summary(verdicts[0].code, verdicts[0].values, verdicts[0].text)
    if live and fresh and live.metrics.step_s is not None:
        text = "Training on 1 rank." if size == 1 else f"Training. All {size} ranks keep pace."
        return Summary("training", values, text)
    return Summary("job_running", values, f"Running on {rank_names.count(size)}.")


def _why(found: Found, reason: Reason | None, error: JobError | None) -> str:
    if reason is not None and reason.code == "preempted":  # what ranks died of is that
        return reason.message
    if error is not None:
        place = f" in cell {error.cell}, line {error.line}" if error.cell and error.line else ""
        message = error.message.strip().splitlines()[0] if error.message.strip() else ""
        what = f"{error.type}: {message}" if message else error.type
        if error.type in ("Killed", "Ended"):
            return f"rank {error.rank} {message}."
        return f"rank {error.rank} failed{place}: {what.rstrip('.')}."
    if reason is not None:
        return reason.message
    if found.waiting is not None and found.waiting.final:
        return found.waiting.message
    return f"it ended with code {found.exit.code}." if found.exit else "its processes are gone."
