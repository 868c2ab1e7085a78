"""Removes a job that has ended: its row in the index, its folder and its checkpoints."""

from __future__ import annotations

import logging

from dtrain_lab.backends import registry
from dtrain_lab.errors import Conflict, DtrainError
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.services.index.async_index import AsyncJobIndex
from dtrain_lab.wire.jobs.job import JobRecord

log = logging.getLogger(__name__)


async def remove(record: JobRecord, name: str, index: AsyncJobIndex, *, force: bool) -> None:
    """Remove a job's row, folder and checkpoints.

    Args:
        record: Record of the job.
        name: Name of the job, for errors.
        index: Index of jobs.
        force: Leave the folder if it can't be removed.

    Raises:
        Conflict: Another job has its checkpoints in the job's folder.
        DtrainError: The folder can't be removed; the job stays in the index.
    """
    own = f"{record.directory}/{job_files.CHECKPOINTS}"
    row, users = await index.take_out(record.id, own)
    if users:
        names = ", ".join(f"{user} ({identity})" for identity, user in users)
        raise Conflict(
            f"The folder of {name} contains checkpoints of {names}.",
            "Delete the jobs that were resumed from it first.",
            code="checkpoints_used",
        )
    for place in registry.backend(record.plan.backend).files(record):
        try:
            await place.transport.remove(record.directory)
        except DtrainError as error:
            if force:
                log.warning("job %s is deleted, and its folder is left: %s", record.id, error)
                continue
            if row is not None:
                await index.put_back(row)
            raise
