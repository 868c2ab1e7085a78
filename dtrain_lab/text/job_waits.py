"""Why a job waits for another one, in words."""

from __future__ import annotations

from dtrain_lab.wire.cluster import Reason


def waits_for(name: str) -> Reason:
    """Return the reason of a job that starts only once another one has succeeded.

    Args:
        name: Name of the other job.
    """
    return Reason("after", f'Waits for the job "{name}".', "Starts once that job has succeeded.")


def never_succeeded(name: str) -> Reason:
    """Return the reason of a job that never starts, because another one has not succeeded.

    Args:
        name: Name of the other job.
    """
    text = f'The job "{name}" had to succeed first, but it has ended without success.'
    return Reason("after_failed", text, "Submit this job again, after another one.", final=True)
