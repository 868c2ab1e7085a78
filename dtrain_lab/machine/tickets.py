"""Tickets: who holds slots of this machine, and who waits for them. A file each, under one lock.

No server takes part. A ticket is good for as long as the process that it names.
"""

from __future__ import annotations

import fcntl
import getpass
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import psutil

from dtrain_lab.core import jobfiles, slots
from dtrain_lab.core.slots import Holder, NodeSlots, Ticket
from dtrain_lab.machine import gpu_processes, local_facts, processes, slots_folder


@contextmanager
def locked() -> Iterator[None]:
    """One at a time looks at the tickets and takes slots."""
    with open(os.open(slots_folder() / "lock", os.O_RDWR | os.O_CREAT, 0o600), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def living() -> list[Ticket]:
    """All tickets whose process lives; others are removed."""
    found = []
    for path in slots_folder().glob("*.json"):
        try:
            ticket = msgspec.json.decode(path.read_bytes(), type=Ticket)
        except (FileNotFoundError, msgspec.DecodeError):
            continue
        if processes.same(ticket.pid, ticket.started) is not None:
            found.append(ticket)
        else:
            path.unlink(missing_ok=True)
    return found


def put(ticket: Ticket) -> None:
    """Write a ticket; whoever reads sees the old or the new one."""
    path = slots_folder() / f"{ticket.id}.json"
    part = path.with_suffix(".part")
    part.write_bytes(msgspec.json.encode(ticket))
    part.rename(path)


def script_of(job: Path) -> psutil.Process | None:
    """The process that runs the script of a job's folder, while it does."""
    try:
        process = psutil.Process(int((job / jobfiles.PID).read_text()))
        mine = any(job.name in word for word in process.cmdline())
    except (OSError, ValueError, psutil.NoSuchProcess):
        return None
    return process if mine and process.status() != psutil.STATUS_ZOMBIE else None


def hold(identity: str, name: str, pid: int, started: float, size: int, gpus: int) -> None:
    """Note that a cluster holds slots of this machine; the end of its process gives them back.

    Args:
        identity: of the cluster.
        name: of the cluster.
        pid: of the process that is the cluster's here.
        started: when that did, as `processes.started` has it.
        size: ranks on this machine.
        gpus: of this machine.
    """
    devices = tuple(range(min(size, gpus)))
    count = len(devices) or size
    ticket = Ticket(
        identity, "cluster", name, getpass.getuser(), pid, started, count, time.time(), True, devices
    )
    with locked():
        put(ticket)


def look() -> NodeSlots:
    """All slots of this machine, each with its holder; strangers' processes on its GPUs, too."""
    facts, running = local_facts(), gpu_processes()
    ours = living()
    mine = {pid for ticket in ours for pid in _family(ticket.pid)}
    foreign: dict[int, Holder] = {}
    for device, users in running.items():
        for pid, _ in users:
            if pid not in mine:
                foreign[device] = _stranger(pid)
    memory = {device: sum(size for _, size in processes) for device, processes in running.items()}
    return slots.shown(ours, facts, foreign, memory)


def _family(pid: int) -> set[int]:
    try:
        process = psutil.Process(pid)
        return {pid, *(child.pid for child in process.children(recursive=True))}
    except psutil.NoSuchProcess:
        return {pid}


def _stranger(pid: int) -> Holder:
    try:
        process = psutil.Process(pid)
        return Holder("foreign", str(pid), process.name(), process.username(), pid)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return Holder("foreign", str(pid), "", "", pid)
