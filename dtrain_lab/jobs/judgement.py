"""Judges a job by its record, its folder and the scheduler's status: its state, and the reason. Pure."""

from __future__ import annotations

from dtrain_lab.errors import DtrainError
from dtrain_lab.jobs.job_errors import from_outside
from dtrain_lab.text.job_waits import waits_for
from dtrain_lab.wire.cluster import Reason
from dtrain_lab.wire.jobs.folder import FolderState, HeadEnd
from dtrain_lab.wire.jobs.job import Job, JobRecord
from dtrain_lab.wire.kinds import JobState
from dtrain_lab.wire.status import Status

FOUND_WITHIN_S = 60.0
"""Seconds for which an interrupted submission may still be found by its mark."""
TAKEN_WITHIN_S = 900.0
"""The same if the scheduler has not confirmed the job: a slow one may accept it late."""
STARTING_S = 60.0
"""Maximum seconds for which a script that runs, but whose ranks are not known to, counts as starting."""
OTHER_HOSTS_S = 60.0
"""Seconds after the first host's end in which the other hosts' ends are awaited."""
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
PREEMPTED = Reason("preempted", "A job of higher priority took its nodes.", "Start it again.", final=True)
NOT_ASKED = Reason(
    "not_asked", "The machine where the job runs doesn't answer now.", "dtrain-lab keeps asking."
)

UNWATCHED_S = 120.0
"""Seconds without news of a job's head after which it counts as gone: NFS may hide its news for 60 s."""
UNWATCHED = Reason(
    "unwatched",
    "Nothing watches the ranks: the job's head has ended, or can't write to the job's folder.",
    "The ranks go on without metrics, stacks and warnings about hangs. Look at head.log in the job's folder.",
)
HEAD_ENDED = "head_ended"
"""Code of the reason of a job that runs on after its head, which can't be asked any more."""


def judged(
    record: JobRecord, folder: FolderState, status: Status | None, now: float, late_s: float
) -> tuple[JobState, Reason | None]:
    """Judge the state of a job, and why it is in that state, if there is something to say.

    Args:
        record: the job's record.
        folder: contents of its folder.
        status: status of its process or scheduler's job; None if there is none yet.
        now: current time, in seconds since 1970.
        late_s: `LATE_S` or `LATE_HERE_S`, by where its folder is.
    """
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
        reason = status.reason
        if record.waits_for and reason is not None and reason.code == "Dependency":
            reason = waits_for(record.waits_for)
        return "queued", reason
    if folder.waiting is not None and folder.started_at is None:
        return "queued", folder.waiting
    if (
        folder.started_at is None
        or folder.live is None
        or not any(r.state != "starting" for r in folder.live.ranks)
    ):
        young = folder.started_at is None or now - folder.started_at < STARTING_S
        if young and (folder.head_end is None or folder.doing is None):
            return "starting", None
    if folder.head_end is not None:
        return "running", _head_ended(folder.head_end)
    return "running", None if _watched(folder, now) else UNWATCHED


def answers(job: Job) -> bool:
    """Whether the head of a job may answer; False if it is known to have ended.

    Args:
        job: The job.
    """
    return job.reason is None or job.reason.code != HEAD_ENDED


def _head_ended(end: HeadEnd) -> Reason:
    """Return the reason of a job whose head has ended before it."""
    if end.logged:
        how, hint = "has ended unexpectedly", " Look at head.log in the job's folder."
    else:
        how, hint = "was killed", ""
    return Reason(
        HEAD_ENDED,
        f"Nothing watches the ranks: the job's head {how}.",
        f"The ranks go on without metrics, stacks, debugger and warnings about hangs.{hint}",
    )


def _watched(folder: FolderState, now: float) -> bool:
    """Whether the head of a job that runs has written its state lately; it may need a while to begin."""
    last = folder.live.at if folder.live is not None else folder.started_at
    return last is None or now - max(last, folder.started_at or 0.0) < UNWATCHED_S


def _not_taken(record: JobRecord, status: Status | None, now: float) -> tuple[JobState, Reason | None]:
    """State of a job that no back-end has accepted: its submission is in progress or was interrupted."""
    cancelled = record.cancelled_at is not None
    if status is not None and status.fate == "unknown":
        return ("stopping" if cancelled else "planned"), status.reason
    scheduler = record.plan.traits.schedules
    if now - record.created_at <= (TAKEN_WITHIN_S if scheduler else FOUND_WITHIN_S):
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
    if now - at < OTHER_HOSTS_S or status is None or status.fate == "running":
        return "running", Reason("ending", f"The first host has finished; {hosts} ended yet.", "")
    text, hint = f"{hosts} reported how it ended.", "Look at that host's log in the job's folder."
    return "failed", Reason("silent_end", text, hint, final=True)


def may_run_again(record: JobRecord, status: Status | None) -> bool:
    """Whether a scheduler that requeues jobs may run one again that has failed.

    A job that is requeued keeps the exit file of its previous run until its script starts again.

    Args:
        record: the job's record.
        status: its status; None if there is none yet.
    """
    return record.cancelled_at is None and status is not None and status.fate != "ended"


def unknown(error: DtrainError) -> Status:
    """Return the status of a job whose back-end can't be asked, because of an error."""
    return Status("unknown", Reason(NOT_ASKED.code, error.message, error.hint))
