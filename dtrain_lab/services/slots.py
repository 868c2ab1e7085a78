"""Who holds the slots of this machine: clusters, jobs, and strangers' processes on its GPUs."""

from __future__ import annotations

import getpass
import time

import psutil

from dtrain_lab.backends import turn
from dtrain_lab.core import slots
from dtrain_lab.core.record import HeadRecord
from dtrain_lab.core.slots import Holder, Slots, Ticket
from dtrain_lab.machine import gpu_processes, local_facts, tickets


def look() -> Slots:
    """All slots, each with its holder."""
    facts = local_facts()
    running = gpu_processes()
    ours = turn.tickets(tickets())
    mine = {pid for ticket in ours for pid in _family(ticket.pid)}
    foreign: dict[int, Holder] = {}
    for device, processes in running.items():
        for pid, _ in processes:
            if pid not in mine:
                foreign[device] = _stranger(pid)
    memory = {device: sum(size for _, size in processes) for device, processes in running.items()}
    return Slots((slots.shown(ours, facts, foreign, memory),))


def hold(record: HeadRecord, name: str, size: int, gpus: int) -> None:
    """Note that a cluster of this machine holds slots; its end gives them back."""
    devices = tuple(range(min(size, gpus)))
    ticket = Ticket(
        record.id,
        "cluster",
        name,
        getpass.getuser(),
        record.pid,
        record.started,
        len(devices) or size,
        time.time(),
        True,
        devices,
    )
    folder = tickets()
    with turn.locked(folder):
        turn.put(folder, ticket)


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
