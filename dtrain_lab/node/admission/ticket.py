"""A host's ticket for a job: takes slots when they are free, gives them back, and says why it waits."""

from __future__ import annotations

from pathlib import Path

import msgspec

from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.machine import atomic_files, gpus, processes, slot_tickets
from dtrain_lab.machine.facts import local_facts
from dtrain_lab.placement.slots import slots
from dtrain_lab.text.job_waits import never_succeeded, waits_for
from dtrain_lab.wire.cluster import Reason
from dtrain_lab.wire.jobs import gang as wire
from dtrain_lab.wire.jobs.folder import End
from dtrain_lab.wire.jobs.job import JobRecord

POLL_S = 0.3
HEAD_WITHIN_S = 60.0


class AdmissionFailed(Exception):
    """The job will not start; the reason is written to where clients read it."""


class HostTicket:
    """This host's ticket for a job.

    Args:
        record: The job's record.
        folder: The job's folder.
        node: Index of this host; None if this machine stands for all nodes.
        script: Process id of the job's script on this host.
    """

    def __init__(self, record: JobRecord, folder: Path, node: int | None, script: int) -> None:
        self._record = record
        self._folder = folder
        self._node = node or 0
        self._facts = local_facts()
        self._reason = b""
        self._hold = 0
        """Number of times that it has taken slots."""
        self.devices: tuple[str, ...] = ()
        """GPUs that it holds."""
        size = record.plan.size if node is None else record.plan.nodes[node].ranks
        if not any(
            ticket.id == record.id for ticket in slot_tickets.living()
        ):  # else queued by the submission
            slot_tickets.put(slots.job_ticket(record, script, processes.started(script), size))

    def poll(self) -> wire.SlotsReport:
        """Take slots if they are free; returns this host's state."""
        with slot_tickets.locked():
            living = slot_tickets.living()
            mine = next(ticket for ticket in living if ticket.id == self._record.id)
            if mine.holds:
                return wire.Reserved(self._node, self._hold, slots.delays_earlier_world(living, mine))
            answer = slots.admit(living, mine.id, self._facts, gpus.usable(), gpus.processes())
            if isinstance(answer, Reason):
                return wire.Queued(self._node, answer)
            slot_tickets.put(answer)
            self.devices = answer.devices
            self._hold += 1
            return wire.Reserved(self._node, self._hold)

    def give_back(self, hold: int) -> None:
        """Release the slots and wait again, unless that hold was already released."""
        if hold != self._hold:
            return
        with slot_tickets.locked():
            mine = next(ticket for ticket in slot_tickets.living() if ticket.id == self._record.id)
            slot_tickets.put(msgspec.structs.replace(mine, holds=False, devices=()))

    def after(self) -> Reason | None:
        """Wait for the job that has to succeed first.

        Returns:
            Why this job still waits; None once the other job has succeeded, and this one is queued.

        Raises:
            AdmissionFailed: The other job did not succeed.
        """
        if self._record.request.after is None:
            return None
        # the other job's folder; older versions wrote its id, which is the name of a sibling folder
        reason = _before(self._folder.parent / self._record.request.after, self._record.waits_for)
        if reason is not None:
            self.write_reason(reason)
            if reason.final:
                raise AdmissionFailed(reason.message)
            return reason
        with slot_tickets.locked():
            mine = next(ticket for ticket in slot_tickets.living() if ticket.id == self._record.id)
            slot_tickets.put(msgspec.structs.replace(mine, ready=True))
        return None

    def write_reason(self, reason: Reason | None) -> None:
        """Write the reason for waiting to where clients read it; None removes it."""
        if reason is None:
            (self._folder / job_files.WAITING).unlink(missing_ok=True)
            return
        text = msgspec.json.encode(reason)
        if text != self._reason:
            atomic_files.swap(self._folder / job_files.WAITING, text)
            self._reason = text


def _before(other: Path, name: str) -> Reason | None:
    """Why the job that has to succeed first blocks this one: None if it has succeeded, final if it failed.

    Args:
        other: That job's folder.
        name: Its name; empty in records of earlier versions.
    """
    called = name or other.name
    runs = (
        slot_tickets.script_of(other) is not None
    )  # asked first: a script writes its exit code before it ends
    try:
        end = msgspec.json.decode((other / job_files.EXIT).read_bytes(), type=End)
    except FileNotFoundError:
        if runs:
            return waits_for(called)
    else:
        if end.code == 0:
            return None
    return never_succeeded(called)
