"""Errors of a job's ranks: which one is the cause, and whether the job was ended from outside. Pure."""

from __future__ import annotations

import signal

from dtrain_lab.cells.errors import CONNECTION_ERRORS
from dtrain_lab.wire.cluster import Reason
from dtrain_lab.wire.jobs import rank_ends
from dtrain_lab.wire.jobs.folder import FolderState
from dtrain_lab.wire.jobs.job import Job, JobError
from dtrain_lab.wire.kinds import JobState

FOLLOWING = (rank_ends.STOPPED, "DistStoreError")
"""Types of errors that a rank raises only because another one, or the job, has ended."""
ENDED_BY_SIGNAL = (128 + signal.SIGKILL, 128 + signal.SIGTERM)
"""Exit codes of scripts whose ranks were ended."""
KILLED_REASONS = ("preempted", "node_fail", "boot_fail")
"""Codes of reasons for which a scheduler ends a job that did not fail by itself."""

INTERRUPTED_REASONS = (*KILLED_REASONS, "timeout", "deadline", "out_of_memory", "revoked")
"""The same, with the limits that a scheduler ends a job at."""


def first_error(errors: tuple[JobError, ...]) -> JobError | None:
    """Return the earliest error that is not the consequence of another.

    A rank whose peer has ended gets "Connection closed by peer", which is an effect. If all errors are such
    effects, the earliest of them is returned.
    """
    real = [e for e in errors if not follows(e)]
    return min(real or errors, key=lambda e: e.time, default=None)


def traceback_mark(error: JobError) -> str:
    """Return text by which the log is searched for an error: the start of its last line.

    Without a traceback, it is what begins the rank's lines on stderr.
    """
    if error.traceback:
        return f" {error.rank} e {error.traceback[-1][:60]}"
    return f" {error.rank} e "


def follows(error: JobError) -> bool:
    """Whether a rank failed only because another rank had ended."""
    text = error.message.lower()
    return any(part in text for part in CONNECTION_ERRORS) or error.type in FOLLOWING


def from_outside(folder: FolderState) -> bool:
    """Whether ranks were ended, and none failed by itself: their script was killed or terminated."""
    ended = any(error.type == rank_ends.STOPPED for error in folder.errors) and all(
        map(follows, folder.errors)
    )
    # another host may have failed without an error file
    return ended and all(end.code in (0, *ENDED_BY_SIGNAL) for end in folder.node_exits)


def fails_again(state: JobState, error: JobError | None, reason: Reason | None) -> bool:
    """Whether an exception of a job's own code ended it, so that the same code would fail again.

    Args:
        state: The job's state.
        error: The error that ended it; None without one.
        reason: Why it ended, as its back-end says; None if unknown.
    """
    if state != "failed" or error is None or (reason is not None and reason.code in INTERRUPTED_REASONS):
        return False
    return error.type not in (rank_ends.KILLED, rank_ends.ENDED) and not follows(error)


def killed_from_outside(job: Job) -> bool:
    """Whether a failed job was killed from outside, so that its code is not the cause."""
    # without an error file: the agent was killed before any rank could write one
    killed = job.exit_code in ENDED_BY_SIGNAL if job.error is None else job.error.type == rank_ends.KILLED
    return killed or (job.reason is not None and job.reason.code in KILLED_REASONS)
