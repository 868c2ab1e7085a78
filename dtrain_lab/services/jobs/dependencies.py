"""Job dependencies (`after`): whether a job can wait for another one, and how the back-end refers to it."""

from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.backends.base import Backend
from dtrain_lab.errors import Conflict
from dtrain_lab.wire.jobs.job import Job, JobRecord
from dtrain_lab.wire.kinds import JOB_ENDED


def refusal(first: Job) -> Conflict | None:
    """Return the error of a job that waits for one that can no longer succeed; None if it still can, or has.

    Args:
        first: Current state of the job that has to succeed first.
    """
    if first.state not in JOB_ENDED or first.state == "succeeded":
        return None
    return Conflict(
        f'The job "{first.name}" has not succeeded ({first.state}): '
        f'a job that waits for "{first.name}" would never start.',
        f"Resume it (dtrain-lab job resume {first.id}), and let this one wait for the new job.",
        code="after_failed",
        details={"field": "after"},
    )


async def resolve(
    record: JobRecord, first: Job, other: JobRecord, backend: Backend, *, fresh: bool = True
) -> JobRecord:
    """Fill in the dependency as the back-end refers to it: the job's folder, or the scheduler's job number.

    Args:
        record: Record of the waiting job.
        first: Current state of the job that has to succeed first.
        other: Record of that job.
        backend: Back-end of the waiting job.
        fresh: Ask the scheduler now; otherwise what it said last counts, which is enough for a form's check.

    Returns:
        `record` with the dependency filled in.

    Raises:
        Conflict: The jobs are not in the same queue, or the first one can no longer succeed.
    """
    if (never := refusal(first)) is not None:
        raise never
    if first.backend != record.plan.backend:
        raise _apart(first, "Jobs can wait only for jobs of the same back-end.")
    if first.state == "succeeded":  # nothing to wait for, and the scheduler may have forgotten the job
        return _waits_for(record, None)
    if backend.traits.schedules:
        # ask the scheduler that will run this job: on another scheduler the same number is another job
        find = backend.find if fresh else backend.find_recent
        handle = await find(replace(other, profile=record.profile))
        if handle is None:
            raise _apart(
                first,
                f'The scheduler, as the profile "{record.plan.profile}" reaches it, has no such job in its '
                "queue: use the same profile, or try again in a moment.",
            )
        return _waits_for(record, handle.job)
    apart = other.system != record.system if other.system else other.host != record.host
    if backend.traits.one_machine and apart:
        raise _apart(first, f"It was started on {other.host}: submit this one there.")
    if not backend.traits.shares_folder and other.plan.nodes[0].name != record.plan.nodes[0].name:
        host = other.plan.nodes[0].name
        raise _apart(first, f"Its first host is {host}: use a profile with that host.")
    return _waits_for(record, other.directory)


def _waits_for(record: JobRecord, dependency: str | None) -> JobRecord:
    name = record.waits_for if dependency is not None else ""
    return replace(record, request=replace(record.request, after=dependency), waits_for=name)


def _apart(first: Job, hint: str) -> Conflict:
    message = f"A job can't wait for the job \"{first.name}\": they don't run in the same queue."
    return Conflict(message, hint, details={"field": "after"})
