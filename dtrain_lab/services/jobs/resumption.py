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
from dtrain_lab.wire.jobs.job import JobRecord


def continued_record(old: JobRecord, identity: str, step: int | None, *, of_sweep: bool = False) -> JobRecord:
    """Return the record of a job that continues another one, in a folder beside the other's.

    Args:
        old: Record of the other job.
        identity: Id of the new job.
        step: Step of the other job's last complete checkpoint; None without one.
        of_sweep: Whether its sweep continues a trial; what a user continues is a job of its own.
    """
    directory = f"{old.directory.rpartition('/')[0]}/{identity}"
    return replace(
        old,
        id=identity,
        directory=directory,
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
