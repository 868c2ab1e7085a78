"""The job that continues from another one's last checkpoint: its record and its copy of the code."""

from __future__ import annotations

import shlex
import socket
import time

from msgspec.structs import replace

from dtrain_lab.backends.base import Backend
from dtrain_lab.errors import Unreachable
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.machine import processes
from dtrain_lab.services.jobs import folder_reads
from dtrain_lab.wire.jobs.job import JobRecord


async def starts_over(old: JobRecord, step: int | None) -> bool:
    """Whether a job that continues another one has nothing to continue from.

    Libraries may keep checkpoints in the folder that are not complete ones of `dt.checkpoint`.

    Args:
        old: Record of the other job.
        step: Step of the other job's last complete checkpoint; None without one.
    """
    return old.begins_again or (step is None and await folder_reads.is_empty(old, old.checkpoints))


def continued_record(
    old: JobRecord, identity: str, step: int | None, *, anew: bool = False, of_sweep: bool = False
) -> JobRecord:
    """Return the record of a job that continues another one, in a folder beside the other's.

    Both have the same folder of checkpoints, unless the job starts over: the other one may then be deleted.

    Args:
        old: Record of the other job.
        identity: Id of the new job.
        step: Step of the other job's last complete checkpoint; None without one.
        anew: Whether the job starts over, with checkpoints of its own.
        of_sweep: Whether its sweep continues a trial; what a user continues is a job of its own.
    """
    directory = f"{old.directory.rpartition('/')[0]}/{identity}"
    return replace(
        old,
        id=identity,
        directory=directory,
        checkpoints=f"{directory}/{job_files.CHECKPOINTS}" if anew else old.checkpoints,
        plan=replace(old.plan, directory=f"{directory}/{job_files.CODE}"),
        created_at=time.time(),
        host=socket.gethostname(),
        system=processes.system(),
        request=replace(old.request, after=None, sweep=old.request.sweep if of_sweep else None),
        handle=None,
        parent=old.id,
        cancelled_at=None,
        cancelled_for=None,
        resumed_step=None if old.begins_again else step,
        problem=None,
        waits_for="",
    )


async def copy_code(old: JobRecord, directory: str, name: str, backend: Backend) -> None:
    """Copy a job's code into another folder, on all hosts that have it.

    Args:
        old: Record of the job.
        directory: The other folder.
        name: Name of the job, for errors.
        backend: The job's back-end.

    Raises:
        Unreachable: The code can't be read, or a host can't be reached.
    """
    here, there = shlex.quote(f"{old.directory}/{job_files.CODE}"), shlex.quote(directory)
    line = f"umask 077; mkdir -p -- {there} && cp -rP -- {here} {there}/"
    for place in backend.files(old):
        done = await place.transport.run(["bash", "-c", line])
        if done.code:
            raise Unreachable(
                f"The code of {name} no longer exists: {done.err.strip()}",
                "Submit the notebook again.",
            )
