"""The script of a job on this machine."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from dtrain_lab.backends.hosts.local_transport import LocalTransport
from dtrain_lab.backends.local import processes as own
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.machine import processes, slot_tickets
from dtrain_lab.placement.slots import slots
from dtrain_lab.wire.jobs.job import JobRecord
from dtrain_lab.wire.processes.head_record import Handle
from dtrain_lab.wire.status import Status

KILL_AFTER_S = 12.0


class Script:
    """The script of a job. Implements `backends.processes.Processes`.

    Args:
        record: Record of the job.
    """

    def __init__(self, record: JobRecord) -> None:
        self._record = record

    async def start(self, files: Mapping[str, bytes]) -> Handle:
        """Write the job's folder, and start its script."""
        await LocalTransport().write(self._record.directory, files)
        return await asyncio.to_thread(start, self._record)

    async def status(self) -> Status:
        """Return whether the same process still runs.

        Raises:
            Unreachable: It was started on another machine that shares the folder with this one.
        """
        handle = self._record.handle
        assert handle is not None
        if own.process(handle) is not None:
            return Status("running")
        own.must_be_here(self._record, handle.host, handle.system)
        return Status("ended")

    async def find(self) -> Handle | None:
        """Find the script by the pid file that it writes.

        Raises:
            Unreachable: It was started on another machine that shares the folder with this one.
        """
        record, folder = self._record, Path(self._record.directory)
        process = slot_tickets.script_of(folder)
        if process is not None:
            with suppress(psutil.NoSuchProcess):  # ended meanwhile
                return own.handle(record.id, process.pid, record.directory)
        own.must_be_here(record, record.host, record.system)
        if not (folder / job_files.PID).exists():
            return None
        # the script has ended
        return Handle(record.id, socket.gethostname(), directory=str(folder), system=processes.system())

    async def cancel(self) -> None:
        """Send SIGTERM to the script's group, and kill it after a while.

        Raises:
            Unreachable: It was started on another machine that shares the folder with this one.
        """
        record, handle = self._record, self._record.handle
        assert handle is not None
        process = own.process(handle)
        if process is None:
            own.must_be_here(record, handle.host, handle.system)
            return
        if record.cancelled_at is not None and time.time() - record.cancelled_at > KILL_AFTER_S:
            own.kill(handle)  # the process that sent SIGTERM may be gone
            return
        processes.signal_group(process.pid, handle.started, signal.SIGTERM)
        asyncio.get_running_loop().call_later(KILL_AFTER_S, own.kill, handle)


def start(job: JobRecord) -> Handle:
    """Start a job's script, in its folder.

    Args:
        job: Record of the job.

    Raises:
        EnvironmentUnfit: bash can't be run.
    """
    folder = Path(job.directory)
    pid = own.start(
        ["bash", str(folder / job_files.BATCH)],
        log=folder / f"{job_files.LAUNCHER_LOG}.log",
        cwd=str(folder),
        env=own.of_script(),
    )
    handle = own.handle(job.id, pid, job.directory)
    # queue the ticket at once, so that a script that starts slowly keeps its place
    slot_tickets.put(slots.job_ticket(job, handle.pid, handle.started, job.plan.size))
    return handle
