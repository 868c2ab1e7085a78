"""Tickets: who holds slots of this machine and who waits for them. One file each, under one lock.

There is no server. A ticket is valid as long as the process that it names lives.
"""

from __future__ import annotations

import contextlib
import getpass
import logging
import os
import socket
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec
import psutil
from msgspec.structs import replace

from dtrain_lab.errors import Conflict, Forbidden
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.machine import atomic_files, gpus, jupyter_variables, processes
from dtrain_lab.machine.facts import local_facts
from dtrain_lab.machine.folders import slots_folder
from dtrain_lab.placement.slots import slots, ticket_reading
from dtrain_lab.placement.slots.slots import Holder, NodeSlots, Ticket

log = logging.getLogger("dtrain_lab.machine")
_reported: set[Path] = set()
"""Tickets of other versions that were logged."""
ENDS_WITHIN_S = 5.0
"""Seconds for a process to end after a signal."""


def locked() -> AbstractContextManager[None]:
    """Lock the tickets for reading and taking slots."""
    return atomic_files.locked(slots_folder() / "lock")


def living() -> list[Ticket]:
    """All tickets whose process lives; others are removed."""
    tickets = []
    for path in slots_folder().glob("*.json"):
        try:
            ticket = _read(path)
        except FileNotFoundError:
            continue
        if not processes.is_here(ticket.system) and not processes.has_ended(ticket.system):
            continue  # of another container that shares the folder: its process can't be seen from here
        if not processes.has_ended(ticket.system) and processes.same(ticket.pid, ticket.started) is not None:
            tickets.append(ticket)
        else:
            path.unlink(missing_ok=True)
    return tickets


def _read(path: Path) -> Ticket:
    """Read a ticket; one of another version counts as long as a process has its pid."""
    data = path.read_bytes()
    try:
        return msgspec.json.decode(data, type=Ticket)
    except msgspec.DecodeError as error:
        if path not in _reported:
            _reported.add(path)
            log.warning("%s is a ticket of another version, and counts as holding slots: %s", path, error)
    ticket = ticket_reading.of_another_version(data, path.stem)
    return ticket if ticket.started else replace(ticket, started=processes.began_at(ticket.pid))


def put(ticket: Ticket) -> None:
    """Write a ticket atomically: readers see the old or the new one."""
    # pid in the name: a cluster whose simulated nodes are all on this machine has a ticket for each
    path = slots_folder() / f"{ticket.id}.{ticket.pid}.json"
    atomic_files.swap(path, msgspec.json.encode(replace(ticket, system=processes.system())))


def script_of(job: Path) -> psutil.Process | None:
    """The process that runs a job's script, given the job's folder; None once it has ended."""
    try:
        process = psutil.Process(int((job / job_files.PID).read_text()))
        mine = any(job.name in word for word in process.cmdline())
    except (OSError, ValueError, psutil.NoSuchProcess):
        return None
    return process if mine and process.status() != psutil.STATUS_ZOMBIE else None


def acquire(identity: str, name: str, size: int, usable: Sequence[str] = ()) -> tuple[str, ...]:
    """Hold slots of this machine for a cluster; they are released when this process ends.

    A cluster does not queue: if fewer GPUs are free than it has ranks, it shares GPUs with others. A repeated
    call with another size keeps its GPUs.

    Args:
        identity: Id of the cluster.
        name: Name of the cluster.
        size: Number of ranks on this node.
        usable: GPUs that it may use.

    Returns:
        The GPUs that it holds; empty on a machine without.
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


def all_slots() -> NodeSlots:
    """All slots of this machine with their holders, including other users' processes on its GPUs."""
    facts, running = local_facts(), gpus.processes()
    ours = living()
    mine = {pid for ticket in ours for pid in _family(ticket.pid)}
    foreign: dict[str, Holder] = {}
    for device, users in running.items():
        others = [(size, pid) for pid, size in users if pid not in mine]
        if others:  # the process with the most memory
            foreign[device] = _stranger(max(others)[1])
    memory = {device: sum(size for _, size in users) for device, users in running.items()}
    return slots.listing(ours, facts, gpus.usable(), foreign, memory)


def stop(identity: str) -> NodeSlots:
    """End a process of this user on a GPU that belongs to neither a cluster nor a job.

    Args:
        identity: Id of the process, from `all_slots`.

    Returns:
        The slots afterwards.

    Raises:
        NotFound: No such process holds a slot of this machine.
        Forbidden: The process is another user's, or belongs to a cluster or job.
        Conflict: The process does not end.
    """
    holder = slots.holder(all_slots(), identity)
    if not holder.may_stop or holder.pid is None:
        raise _not_yours(holder)
    with contextlib.suppress(psutil.NoSuchProcess):  # it has ended by itself
        began = processes.started(holder.pid)
        process = psutil.Process(holder.pid)
        for end in (process.terminate, process.kill):
            end()
            if processes.gone(holder.pid, began, ENDS_WITHIN_S):
                return all_slots()
        raise Conflict(
            f"Process {holder.pid} does not end.", "It may hang in the GPU's driver.", code="hangs"
        )
    return all_slots()


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
        # Jupyter sets a kernel's notebook in its environment; other users' environments can't be read
        book = jupyter_variables.notebook(process.environ()) if mine else None
        name = f"{process.name()} ({os.path.basename(book)})" if book else process.name()
        owner = process.username()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return Holder("foreign", str(pid), "", "", pid)
    return Holder("foreign", f"{socket.gethostname()}.{pid}.{began:.2f}", name, owner, pid, may_stop=mine)
