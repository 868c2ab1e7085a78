"""Removes a sweep that has ended: the jobs of its trials, then its record."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from dtrain_lab.backends.hosts.local_transport import LocalTransport
from dtrain_lab.errors import Conflict
from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.services.sweeps import folder as folders
from dtrain_lab.wire.sweeps import SWEEP_ENDED, SweepRecord

DRIVER_WITHIN_S = 5.0
"""Seconds within which the driver of a sweep that has ended gives up its lock."""


async def remove(folder: Path, jobs: Jobs, *, force: bool) -> SweepRecord:
    """Remove the jobs of a sweep's trials, with their folders and checkpoints, and then the sweep's folder.

    If a job can't be removed, the sweep stays, and can be removed later.

    Args:
        folder: The sweep's folder.
        jobs: Jobs of this user.
        force: Remove jobs even if it is unknown whether they still run, or if a folder can't be removed.

    Returns:
        The sweep's last record.

    Raises:
        Conflict: The sweep or one of its jobs still runs, or another job has its checkpoints in a folder.
        Unreachable: A folder can't be removed.
    """
    _ended(folder)
    lock = await asyncio.to_thread(folders.take, folder, DRIVER_WITHIN_S)
    if lock is None:
        raise _runs(folders.read(folder))
    try:
        record = _ended(folder)  # a client may have resumed it meanwhile
        of_trials = [job for trial in record.trials for job in (*trial.jobs, trial.job) if job is not None]
        await jobs.delete_all(list(dict.fromkeys(of_trials)), force=force)
        await LocalTransport().remove(str(folder))
    finally:
        os.close(lock)
    return record


def _ended(folder: Path) -> SweepRecord:
    """Return the record of a sweep that has ended and that nobody has asked to go on."""
    record = folders.read(folder)
    if record.state not in SWEEP_ENDED or folders.asked(folder).number > record.heard:
        raise _runs(record)
    return record


def _runs(record: SweepRecord) -> Conflict:
    return Conflict(f"{record.name} still runs.", f"Stop it first: dtrain-lab sweep stop {record.id}")
