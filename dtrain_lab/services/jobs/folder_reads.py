"""Reads a job's folder, here or on another host: small files, exit file, last checkpoint; its head's end."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import NamedTuple

import msgspec

from dtrain_lab.backends.base import ASK_WITHIN_S, Place
from dtrain_lab.backends.hosts.local_transport import LocalTransport
from dtrain_lab.errors import DtrainError
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.jobs import logged_values
from dtrain_lab.jobs.folder import PATTERNS
from dtrain_lab.machine import filesystems, processes
from dtrain_lab.services.policy import backends
from dtrain_lab.wire.jobs.folder import HeadEnd
from dtrain_lab.wire.jobs.job import JobRecord
from dtrain_lab.wire.processes import endpoints

VALUES_READ = 64 << 10
"""Bytes at the end of the logged values that are read for the latest ones."""
LATE_AFTER_S = (0.0, 0.5, 1.0)
"""Delays before the attempts to find the exit file on a network file system."""


class SmallFiles(NamedTuple):
    """Small files of a job's folder; `ahead`: seconds by which the clock there is ahead of the local one."""

    files: dict[str, bytes]
    ahead: float


async def small(folder: str, place: Place) -> SmallFiles | DtrainError:
    """Read the small files of a job's folder on one host.

    Args:
        folder: Path of the folder.
        place: The host, with the transport to it.

    Returns:
        The files, with the difference of the clocks in seconds; or the error, which is not raised.
    """
    try:
        files = await place.transport.read_matching(folder, PATTERNS, ASK_WITHIN_S) or {}
        return SmallFiles(files, await place.transport.clock_offset_s())
    except DtrainError as error:
        return error


def on_disk_here(record: JobRecord, place: Place) -> bool:
    """Whether the job's folder is on a disk of this machine, where a file is seen once it is written.

    Args:
        record: The job.
        place: Where its folder is.
    """
    return isinstance(place.transport, LocalTransport) and filesystems.is_local(Path(record.directory))


async def exit_file(record: JobRecord, place: Place) -> dict[str, bytes]:
    """Read the exit file, which may appear late on a network file system.

    Args:
        record: The job.
        place: Where its folder is.

    Returns:
        The file's name → its content; empty if it does not appear.
    """
    for wait_s in (0.0,) if on_disk_here(record, place) else LATE_AFTER_S:
        await asyncio.sleep(wait_s)
        files = await place.transport.read_matching(record.directory, (job_files.EXIT,)) or {}
        if job_files.EXIT in files:
            return files
    return {}


def head_end(folder: Path) -> HeadEnd | None:
    """Return what the head of a job on this machine has left if it was killed, or has crashed.

    Args:
        folder: The job's folder, on a disk of this machine.

    Returns:
        None while it runs, before it has begun, and if it has removed its endpoints as it ended.
    """
    try:
        head = endpoints.decode((folder / job_files.ENDPOINTS).read_bytes())
        if processes.same(head.pid, head.started) is not None:
            return None
        log = (folder / job_files.HEAD_LOG).stat().st_size
        (folder / job_files.ENDPOINTS).stat()  # it may have ended in good order meanwhile
    except (OSError, msgspec.DecodeError):
        return None
    values: dict[str, float | str] = {}
    lines = logged_values.parse(_tail(folder / job_files.VALUES)).values
    for line in lines:
        values |= line.values
    return HeadEnd(log > 0, values, lines[-1].step if lines else None)


def _tail(file: Path) -> bytes:
    """Return the whole lines at the end of a file; empty if it can't be read."""
    try:
        with open(file, "rb") as opened:
            start = max(0, opened.seek(0, 2) - VALUES_READ)
            opened.seek(start)
            data = opened.read()
    except OSError:
        return b""
    return data.partition(b"\n")[2] if start else data


async def checkpoint(record: JobRecord, place: Place) -> int | None:
    """The step of the last complete checkpoint; None without one.

    Args:
        record: The job.
        place: Where its folder is.
    """
    marks = await place.transport.read_matching(record.checkpoints, ("step-*/complete",)) or {}
    steps = [int(s) for path in marks if (s := path.split("/")[0].removeprefix("step-")).isdecimal()]
    return max(steps, default=None)


async def is_empty(record: JobRecord, folder: str) -> bool:
    """Whether a folder of a job has no file on any of its hosts; False if a part of it can't be read.

    Args:
        record: The job.
        folder: Path of the folder, which may be missing.

    Raises:
        DtrainError: A host can't be asked.
    """
    line = f"[ ! -e {shlex.quote(folder)} ] || find {shlex.quote(folder)} -type f -print -quit"
    for place in backends.backend(record.plan.backend).files(record):
        done = await place.transport.run(["bash", "-c", line])
        if done.code or done.out.strip():
            return False
    return True
