"""Waits for slots of this machine: `python -m dtrain_lab.backends.turn TICKETS FOLDER`.

It stands first in a job's script. No server takes part: jobs that wait find their turn themselves, in a
folder of tickets under one lock. It prints the GPUs that the job may use. A ticket is good for as long as the
process that it names.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import psutil

from dtrain_lab.core import jobfiles, slots
from dtrain_lab.core.cluster import Reason
from dtrain_lab.core.job import End, JobRecord
from dtrain_lab.core.slots import Ticket
from dtrain_lab.machine import gpu_processes, local_facts

LOOK_S = 0.3


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One at a time looks at the tickets and takes slots."""
    with open(os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def tickets(folder: Path) -> list[Ticket]:
    """All tickets whose process lives; others are removed."""
    found = []
    for path in folder.glob("*.json"):
        try:
            ticket = msgspec.json.decode(path.read_bytes(), type=Ticket)
        except (FileNotFoundError, msgspec.DecodeError):
            continue
        if lives(ticket.pid, ticket.started):
            found.append(ticket)
        else:
            path.unlink(missing_ok=True)
    return found


def put(folder: Path, ticket: Ticket) -> None:
    """Write a ticket; whoever reads sees the old or the new one."""
    path = folder / f"{ticket.id}.json"
    part = path.with_suffix(".part")
    part.write_bytes(msgspec.json.encode(ticket))
    part.rename(path)


def lives(pid: int, started: float) -> bool:
    """Is it still that process?"""
    try:
        process = psutil.Process(pid)
        return bool(abs(process.create_time() - started) < 1.0 and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def enter(folder: Path, record: JobRecord, script: int) -> None:
    """Queue up, at once with the submission: a script that starts slowly keeps its place.

    Args:
        folder: of tickets.
        record: of the job.
        script: pid of the process that runs its script.
    """
    started = psutil.Process(script).create_time()
    size = record.plan.size
    put(folder, Ticket(record.id, "job", record.name, record.owner, script, started, size, record.created_at))


def main(folder: Path, job: Path) -> int:
    """Wait; 0 once the slots are taken."""
    record = msgspec.json.decode((job / jobfiles.JOB).read_bytes(), type=JobRecord)
    script = os.getppid()
    if not (folder / f"{record.id}.json").exists():  # run by hand
        enter(folder, record, script)
    facts = local_facts()
    said = b""
    while os.getppid() == script:
        if record.request.after is not None:
            before = _before(job.parent / record.request.after)
            if before is not None and before.final:
                _say(job, before, said)
                return 1
            if before is not None:
                said = _say(job, before, said)
                time.sleep(LOOK_S)
                continue
        with locked(folder):
            answer = slots.turn(tickets(folder), record.id, facts, sorted(gpu_processes()))
            if isinstance(answer, Ticket):
                put(folder, answer)
                (job / jobfiles.WAITING).unlink(missing_ok=True)
                print(",".join(map(str, answer.devices)))
                return 0
        said = _say(job, answer, said)
        time.sleep(LOOK_S)
    return 1


def _before(other: Path) -> Reason | None:
    """The job that has to succeed first: None where it has, a final reason where it never will."""
    try:
        end = msgspec.json.decode((other / jobfiles.EXIT).read_bytes(), type=End)
    except FileNotFoundError:
        if script_of(other) is not None:
            return Reason(
                "after", f"It waits for the job {other.name}.", "It starts once that has succeeded."
            )
    else:
        if end.code == 0:
            return None
    text = f"The job {other.name}, which had to succeed first, did not."
    return Reason("after_failed", text, "Submit it again.", final=True)


def script_of(job: Path) -> psutil.Process | None:
    """The process that runs the script of a job's folder, while it does."""
    try:
        process = psutil.Process(int((job / jobfiles.PID).read_text()))
        mine = any(str(job) in word for word in process.cmdline())
    except (OSError, ValueError, psutil.NoSuchProcess):
        return None
    return process if mine and process.status() != psutil.STATUS_ZOMBIE else None


def _say(job: Path, reason: Reason, said: bytes) -> bytes:
    text = msgspec.json.encode(reason)
    if text != said:
        part = job / f".{jobfiles.WAITING}"
        part.write_bytes(text)
        part.rename(job / jobfiles.WAITING)
    return text


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
