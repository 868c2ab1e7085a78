"""Rows of the terminal's list of jobs: a job, or a sweep with all of its trials."""

from __future__ import annotations

from collections.abc import Sequence

from dtrain_lab.text.state_words import job_word, sweep_word
from dtrain_lab.text.units import counted, duration
from dtrain_lab.wire.jobs.job import Job
from dtrain_lab.wire.sweeps import Sweep

COLUMNS = ("id", "name", "state", "profile", "size", "time", "")
Row = tuple[str, str, str, str, str, str, str]


def rows(jobs: Sequence[Job], sweeps: Sequence[Sweep], now: float) -> list[Row]:
    """Return a row for each job, and one for each sweep instead of its trials; newest first.

    Args:
        jobs: The jobs.
        sweeps: The sweeps whose trials are not listed one by one. A job of another sweep has a row.
        now: The time, in seconds since 1970.
    """
    folded = {sweep.id for sweep in sweeps}
    dated = [(job.created_at, _job(job, now)) for job in jobs if job.sweep not in folded]
    dated += [(sweep.created_at, _sweep(sweep)) for sweep in sweeps]
    return [row for _, row in sorted(dated, key=lambda entry: -entry[0])]


def _job(job: Job, now: float) -> Row:
    size = f"{job.size.nodes} × {job.size.ranks_per_node}"
    took = "–" if job.started_at is None else duration((job.ended_at or now) - job.started_at)
    state = job_word(job.state, job.summary.code)
    return job.id, job.name, state, job.profile, size, took, job.summary.text


def _sweep(sweep: Sweep) -> Row:
    size = f"{counted(sweep.total, 'trial')} of {sweep.size.nodes} × {sweep.size.ranks_per_node}"
    took = "–" if sweep.ran_s is None else duration(sweep.ran_s)
    text = f"Sweep: {sweep.summary.text}"
    state = sweep_word(sweep.state, sweep.summary.code)
    return sweep.id, sweep.name, state, sweep.profile, size, took, text
