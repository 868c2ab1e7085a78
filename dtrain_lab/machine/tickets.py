"""Tickets: who holds slots of this machine, and who waits for them. A file each, under one lock.

No server takes part. A ticket is good for as long as the process that it names.
"""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import psutil

from dtrain_lab.core import jobfiles, slots
from dtrain_lab.core.slots import Holder, NodeSlots, Ticket
from dtrain_lab.errors import Conflict, Forbidden
from dtrain_lab.machine import gpus, local_facts, processes, slots_folder

ENDS_WITHIN_S = 5.0
"""So long a process may take to end by itself when it is asked to."""


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
    # a cluster of several nodes that this machine is all of has a ticket for each
    path = slots_folder() / f"{ticket.id}.{ticket.pid}.json"
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


def hold(identity: str, name: str, size: int, usable: Sequence[str] = ()) -> tuple[str, ...]:
    """Hold slots of this machine for a cluster that runs below this process, whose end gives them back.

    A cluster waits for nobody: where fewer GPUs are free than it has ranks, it shares others'. Held again
    with another size, it keeps those it has.

    Args:
        identity: of the cluster.
        name: of the cluster.
        size: ranks of this process.
        usable: GPUs that it may use.

    Returns:
        Those that it holds; none on a machine without.
    """
    running = gpus.processes() if usable else {}
    pid, began = os.getpid(), processes.started()
    with locked():
        there = living()
        mine = next((t for t in there if t.id == identity and t.pid == pid), None)
        held = {d for t in there if t is not mine for d in t.devices}
        devices = slots.chosen(size, usable, held, running, mine.devices if mine else ())
        count = len(devices) or size
        at = mine.at if mine else time.time()
        put(Ticket(identity, "cluster", name, getpass.getuser(), pid, began, count, at, True, devices))
    return devices


def look() -> NodeSlots:
    """All slots of this machine, each with its holder; strangers' processes on its GPUs, too."""
    facts, running = local_facts(), gpus.processes()
    ours = living()
    mine = {pid for ticket in ours for pid in _family(ticket.pid)}
    foreign: dict[str, Holder] = {}
    for device, users in running.items():
        others = [(size, pid) for pid, size in users if pid not in mine]
        if others:  # the one that takes most of it
            foreign[device] = _stranger(max(others)[1])
    memory = {device: sum(size for _, size in users) for device, users in running.items()}
    return slots.shown(ours, facts, gpus.usable(), foreign, memory)


def stop(identity: str) -> NodeSlots:
    """End a process of this user's on a GPU that is neither a cluster's nor a job's.

    Args:
        identity: of the process, as `look` gives it.

    Returns:
        The slots afterwards.

    Raises:
        NotFound: no such process holds a slot of this machine.
        Forbidden: it is somebody else's, or a cluster's or job's, which have their own ways to end.
    """
    holder = slots.holder(look(), identity)
    if not holder.may_stop or holder.pid is None:
        raise _not_yours(holder)
    with contextlib.suppress(psutil.NoSuchProcess):  # it has ended by itself
        began = processes.started(holder.pid)
        process = psutil.Process(holder.pid)
        for end in (process.terminate, process.kill):
            end()
            if processes.gone(holder.pid, began, ENDS_WITHIN_S):
                return look()
        raise Conflict(
            f"Process {holder.pid} does not end.", "It may hang in the GPU's driver.", code="hangs"
        )
    return look()


def _not_yours(holder: Holder) -> Forbidden:
    if holder.kind == "foreign":
        whose = f"{holder.owner}'s" if holder.owner else "somebody else's"
        return Forbidden(f"Process {holder.pid} is {whose}.", "Ask them to end it.", code="not_yours")
    text = f"Process {holder.pid} is that of {holder.kind} {holder.name}."
    return Forbidden(text, f"End the {holder.kind} instead.", code="not_yours")


def _family(pid: int) -> set[int]:
    try:
        process = psutil.Process(pid)
        return {pid, *(child.pid for child in process.children(recursive=True))}
    except psutil.NoSuchProcess:
        return {pid}


def _stranger(pid: int) -> Holder:
    try:
        process = psutil.Process(pid)
        began = processes.started(pid)
        mine = process.uids().real == os.getuid()
        # Jupyter tells a kernel which notebook it is of; whose process it is not can't be asked that
        book = process.environ().get("JPY_SESSION_NAME", "") if mine else ""
        name = f"{process.name()} ({os.path.basename(book)})" if book else process.name()
        owner = process.username()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return Holder("foreign", str(pid), "", "", pid)
    return Holder("foreign", f"{socket.gethostname()}.{pid}.{began:.2f}", name, owner, pid, may_stop=mine)
