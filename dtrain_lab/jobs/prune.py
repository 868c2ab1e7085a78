"""Pruning: which jobs are old enough to be deleted. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dtrain_lab.wire.jobs.job import Job
from dtrain_lab.wire.kinds import JOB_ENDED


def prunable(jobs: Iterable[Job], checkpoints: Mapping[str, str], before: float) -> list[Job]:
    """Find jobs that ended before a time, in an order in which they can be deleted.

    A resumed job shares its checkpoints with its parent. Such jobs are only deleted together: not before
    the latest of them is old enough, nor while one runs or can't be read.

    Args:
        jobs: jobs that could be read.
        checkpoints: id of each job in the index → folder of its checkpoints.
        before: jobs that ended earlier are deleted, in seconds since 1970.
    """
    by_id = {job.id: job for job in jobs}
    families: dict[str, list[str]] = {}
    for identity, folder in checkpoints.items():
        families.setdefault(folder or identity, []).append(identity)
    old: list[Job] = []
    for members in families.values():
        trials = [by_id[identity] for identity in members if identity in by_id]
        if trials and len(trials) == len(members) and all(_ended_before(job, before) for job in trials):
            # the job whose folder holds the checkpoints goes last, since the hosts' clocks may disagree
            old += sorted(trials, key=lambda job: (_has_them(job, checkpoints), -job.created_at))
    return old


def _ended_before(job: Job, before: float) -> bool:
    return job.state in JOB_ENDED and (job.ended_at or job.created_at) < before


def _has_them(job: Job, checkpoints: Mapping[str, str]) -> bool:
    """Whether a job's checkpoints are in its own folder."""
    return checkpoints[job.id].startswith(f"{job.directory}/")
