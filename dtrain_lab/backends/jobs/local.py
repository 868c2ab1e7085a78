"""Jobs on this machine: a script in a session of its own, which waits for its turn."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

import psutil

from dtrain_lab.backends.jobs.base import Forecast, Place
from dtrain_lab.backends.transport import Here, allowed
from dtrain_lab.core import job_script, jobfiles, slots
from dtrain_lab.core.job import JobRecord
from dtrain_lab.core.profile import Profile
from dtrain_lab.core.record import Handle
from dtrain_lab.core.slots import NodeSlots
from dtrain_lab.core.status import Status
from dtrain_lab.errors import StartFailed
from dtrain_lab.machine import processes, tickets

KILL_AFTER_S = 12.0


class LocalJobs:
    """Scripts as processes of this machine."""

    name = "local"

    async def base(self, record_workdir: str | None, record: JobRecord | None = None) -> str:
        """The profile's workdir, or a folder in the user's home."""
        return f"{record_workdir or Path.home() / '.dtrain-lab'}/jobs"

    def scripts(self, record: JobRecord) -> dict[str, str]:
        """One script for all nodes: they are this machine."""
        return {jobfiles.BATCH: job_script.on_hosts(record, None)}

    def command(self, record: JobRecord) -> str:
        """By hand."""
        return f"bash {record.directory}/{jobfiles.BATCH}"

    async def forecast(self, record: JobRecord) -> Forecast:
        """Nobody schedules here."""
        return Forecast()

    async def submit(self, record: JobRecord, files: dict[str, bytes]) -> Handle:
        """Start the script, detached."""
        way = Here()
        await way.write(record.directory, files)
        return await asyncio.to_thread(_start, record)

    async def status(self, record: JobRecord) -> Status:
        """Does its script run?"""
        assert record.handle is not None
        return Status("running" if _process(record.handle) is not None else "ended")

    async def find(self, record: JobRecord) -> Handle | None:
        """Its script says who it is as soon as it runs."""
        process = tickets.script_of(Path(record.directory))
        if process is not None:
            with suppress(psutil.NoSuchProcess):  # it has ended meanwhile
                return _handle(record, process.pid)
        if not (Path(record.directory) / jobfiles.PID).exists():
            return None
        return Handle(record.id, socket.gethostname(), 0, 0.0, record.directory)  # it has ended

    async def cancel(self, record: JobRecord) -> None:
        """SIGTERM to the script's process group; what is left after a while is killed."""
        assert record.handle is not None
        process = _process(record.handle)
        if process is None:
            return
        os.killpg(process.pid, signal.SIGTERM)
        asyncio.get_running_loop().call_later(KILL_AFTER_S, _kill, record.handle)

    async def slots(self, profile: Profile) -> tuple[NodeSlots, ...]:
        """Of this machine."""
        return (await asyncio.to_thread(tickets.look),)

    async def stop(self, profile: Profile, identity: str) -> None:
        """On this machine."""
        await asyncio.to_thread(tickets.stop, identity)

    def places(self, record: JobRecord) -> list[Place]:
        """All of it is here."""
        return [Place(Here(), tuple(range(len(record.plan.nodes))))]


_children: list[subprocess.Popen[bytes]] = []


def _start(record: JobRecord) -> Handle:
    folder = Path(record.directory)
    log = os.open(folder / f"{jobfiles.LAUNCHER_LOG}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        process = subprocess.Popen(
            ["bash", str(folder / jobfiles.BATCH)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            env=allowed() | {k: v for k, v in os.environ.items() if k == "CUDA_VISIBLE_DEVICES"},
            start_new_session=True,
        )
    except OSError as error:
        raise StartFailed(f"bash can't be run: {error.strerror}.", "") from error
    finally:
        os.close(log)
    _children[:] = [p for p in _children if p.poll() is None]
    _children.append(process)
    handle = _handle(record, process.pid)
    # at once: a script that starts slowly keeps its place
    tickets.put(slots.job_ticket(record, handle.pid, handle.started, record.plan.size))
    return handle


def _handle(record: JobRecord, pid: int) -> Handle:
    return Handle(record.id, socket.gethostname(), pid, processes.started(pid), record.directory)


def _process(handle: Handle) -> psutil.Process | None:
    if handle.host != socket.gethostname() or not handle.pid:
        return None
    for child in _children:
        child.poll()
    return processes.same(handle.pid, handle.started)


def _kill(handle: Handle) -> None:
    process = _process(handle)
    if process is not None:
        os.killpg(process.pid, signal.SIGKILL)
