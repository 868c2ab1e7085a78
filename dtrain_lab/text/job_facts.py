"""Facts about a job in words, for the terminal: those that its view on the page has."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from dtrain_lab.text import rank_names
from dtrain_lab.text.state_words import job_word
from dtrain_lab.text.units import duration, whole_duration
from dtrain_lab.wire.jobs.job import Job
from dtrain_lab.wire.kinds import JOB_ENDED

PROGRESS_VALUES = 3
"""Values of `dt.log` in the line of progress, which is to stay one line."""


def facts(job: Job, now: float) -> list[tuple[str, str]]:
    """Return the name and the value of each fact that is known of a job.

    Args:
        job: The job.
        now: The time, in seconds since 1970.
    """
    size = job.size
    cells = next((phase for phase in job.progress if phase.phase == "cells"), None)
    again = "Started over after" if job.resumed_step is None else "Resumed from"
    known = [
        ("State", job_word(job.state, job.summary.code)),
        ("Profile", job.profile),
        ("Slurm job", job.scheduler_id),
        ("Size", f"{size.nodes} × {size.ranks_per_node} = {rank_names.count(job.world.size)}"),
        ("Parameters", _listed(job.parameters)),
        ("Cells begun", f"{cells.done} of {cells.total}" if cells else None),
        ("Submitted", _clock(job.created_at)),
        ("Started", _clock(job.started_at)),
        ("Ended", _clock(job.ended_at)),
        ("Time", duration((job.ended_at or now) - job.started_at) if job.started_at else None),
        ("Exit code", job.exit_code),
        ("Command when it ends", _end_command(job)),
        ("Attempt", job.attempt + 1 if job.attempt else None),
        (again, _parent(job)),
        ("Sweep", job.sweep),
        *_logged(job),
        ("Checkpoint", None if job.checkpoint_step is None else f"step {job.checkpoint_step:,}"),
        ("Folder", job.directory),
    ]
    return [(name, str(value)) for name, value in known if value not in (None, "")]


def progress(job: Job, now: float) -> str:
    """Return how far a job is, for who waits for it: "train: Running on 2 ranks. So far: 12 s, step 40.".

    Args:
        job: The job.
        now: The time, in seconds since 1970.
    """
    values = dict(job.metrics.values)
    step = values.pop("step", None)
    shown = _listed(dict(list(values.items())[:PROGRESS_VALUES]))
    last = [f"step {step:,}" if isinstance(step, int) else "", shown]
    ended = job.state in JOB_ENDED
    if job.state == "running" and job.started_at is not None:
        last = [whole_duration(max(0.0, now - job.started_at)), *last]
    said = ", ".join(filter(None, last))
    text = f"{job.name}: {job.summary.text}"
    return f"{text} {'Last' if ended else 'So far'}: {said}." if said else text


def end_command_failure(job: Job) -> str | None:
    """Return in a sentence that the user's command for the job's end has failed; None if it has not.

    Args:
        job: The job.
    """
    command = job.end_command
    if command is None or not command.exit_code:
        return None
    failed = f"failed with exit code {command.exit_code}"
    return f"The command that ran when the job ended {failed}: {command.command}"


def _end_command(job: Job) -> str | None:
    """How the user's command for the job's end stands."""
    command = job.end_command
    if command is None:
        return None
    match command.exit_code:
        case None:
            return "running"
        case 0:
            return "done"
        case code:
            return f"failed, exit code {code}"


def _parent(job: Job) -> str | None:
    """The job that a job continues, with the step of the checkpoint from which it began."""
    if job.parent is None or job.resumed_step is None:
        return job.parent
    return f"{job.parent}, at step {job.resumed_step:,}"


def start_of_continuation(job: Job) -> str:
    """Return in a sentence where a job begins that continues this one.

    Args:
        job: The job that is continued.
    """
    if job.checkpoint_step is None:
        return f"{job.name} has no complete checkpoint: it starts from the beginning."
    at = f"step {job.checkpoint_step:,}"
    if job.begins_again:
        return (
            f"It starts from the beginning: the notebook has saved a checkpoint at {at}, "
            "but never loads one (dt.latest_checkpoint)."
        )
    return f"It starts from the checkpoint of {at}."


def _logged(job: Job) -> list[tuple[str, str]]:
    """The latest values of `dt.log`: those of rank 0, and those that are means over ranks."""
    values = {name: value for name, value in job.metrics.values.items() if name != "step"}
    step = job.metrics.values.get("step")
    at = f" (step {step:,})" if isinstance(step, int) else ""
    averaged = job.metrics.averaged
    if averaged is None or job.world.size == 1:
        return [("Logged", _listed(values, at))]
    return [
        ("Logged by rank 0", _listed({n: v for n, v in values.items() if n not in averaged}, at)),
        ("Logged, mean over ranks", _listed({n: v for n, v in values.items() if n in averaged}, at)),
    ]


def _listed(values: Mapping[str, Any], after: str = "") -> str:
    shown = (f"{n} {v:.4g}" if isinstance(v, float) else f"{n} {v}" for n, v in values.items())
    return f"{', '.join(shown)}{after}" if values else ""


def _clock(at: float | None) -> str | None:
    return None if at is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
