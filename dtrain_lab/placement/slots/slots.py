"""Slots of a machine without a scheduler: which worlds hold them, which wait, and which is next. Pure.

A slot is a GPU or, on a machine without GPUs, a share of a core. Slots are assigned first come, first served;
a job gets all of its slots or none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.errors import NotFound
from dtrain_lab.placement.capacity import slot_count
from dtrain_lab.text.units import counted
from dtrain_lab.wire.cluster import Reason
from dtrain_lab.wire.jobs.job import JobRecord
from dtrain_lab.wire.plan import NodeFacts

REFUSED = 3
"""Exit status of the slots command on a node if it refused to end a process; its output says why."""

HolderKind = Literal["cluster", "job", "foreign"]


class Ticket(Struct, frozen=True):
    """A cluster or job that holds slots or waits for them.

    `devices`: GPUs by their names on the machine; empty for CPU slots and while it waits. `ready`: it would
    start if slots were free; a job that waits for another job's end keeps its place without blocking others.
    """

    id: str
    kind: HolderKind
    name: str
    owner: str
    pid: int
    started: float
    slots: int
    at: float
    holds: bool = False
    devices: tuple[str, ...] = ()
    ready: bool = True
    system: str = ""
    """Host boot and PID namespace of `pid`: `machine.processes.system`."""


class Holder(Struct, frozen=True):
    """The holder of a slot. `may_stop`: it is a process of this user outside any cluster or job."""

    kind: HolderKind
    id: str
    name: str
    owner: str
    pid: int | None
    may_stop: bool = False


class Slot(Struct, frozen=True):
    """A GPU, or a share of a core."""

    device: str
    held_by: Holder | None = None
    memory_bytes: int | None = None


class NodeSlots(Struct, frozen=True):
    """The slots of a machine. `excess`: how many of `slots` it does not have, as holders share its slots."""

    name: str
    slots: tuple[Slot, ...]
    waiting: tuple[Holder, ...] = ()
    excess: int = 0


class Slots(Struct, frozen=True):
    """Response of the route and command `slots`."""

    nodes: tuple[NodeSlots, ...]


def job_ticket(record: JobRecord, pid: int, started: float, size: int) -> Ticket:
    """Make the ticket of a job that enters the queue.

    Args:
        record: record of the job.
        pid: pid of the process that runs its script.
        started: start time of that process, as `machine.processes.started` returns it.
        size: number of slots that it needs on this machine.
    """
    ready = record.request.after is None
    return Ticket(
        record.id, "job", record.name, record.owner, pid, started, size, record.created_at, ready=ready
    )


def chosen(
    count: int,
    usable: Sequence[str],
    held: Collection[str],
    taken: Collection[str],
    current: Sequence[str] = (),
) -> tuple[str, ...]:
    """Choose GPUs for a world that may start: free ones first, then those that foreign processes use.

    Args:
        count: number of GPUs; if there are fewer, all are chosen.
        usable: GPUs that the world may use.
        held: GPUs held by other worlds.
        taken: GPUs on which processes compute.
        current: GPUs that the world already has; they come first.
    """
    first = [name for name in current if name in usable][:count]
    others = [name for name in usable if name not in first]
    order = sorted(others, key=lambda name: (name in held, name in taken))
    return (*first, *sorted(order[: count - len(first)], key=usable.index))


def admit(
    tickets: Sequence[Ticket],
    mine: str,
    facts: NodeFacts,
    usable: Sequence[str],
    taken: Collection[str] = (),
) -> Ticket | Reason:
    """Decide whether a waiting world may take its slots.

    Args:
        tickets: tickets of the machine.
        mine: id of the world's ticket.
        facts: resources of the machine.
        usable: GPUs that the world may use.
        taken: GPUs on which processes compute.

    Returns:
        The ticket with its slots assigned, or the reason why the world has to wait.

    Raises:
        KeyError: no waiting ticket has this id.
    """
    slot_total = slot_count(facts, len(usable))
    holding = [t for t in tickets if t.holds]
    busy = {d for t in holding for d in t.devices}
    free = len(set(usable) - busy) if facts.gpus else slot_total - sum(t.slots for t in holding)
    waiting = sorted((t for t in tickets if t.ready and not t.holds), key=_arrival)
    for ahead, ticket in enumerate(waiting):
        if ticket.id != mine:
            continue
        # ranks share GPUs if there are more ranks, as in a cluster: wait for the whole machine at most
        if ahead == 0 and min(ticket.slots, slot_total) <= free:
            return replace(ticket, holds=True, devices=chosen(ticket.slots, usable, busy, taken))
        return _reason(ticket, free, slot_total, ahead, holding)
    raise KeyError(mine)


def delays_earlier_world(tickets: Sequence[Ticket], mine: Ticket) -> bool:
    """Whether a world that came before this holder is waiting.

    Args:
        tickets: All tickets of the machine.
        mine: This holder's.
    """
    return any(t.ready and not t.holds and _arrival(t) < _arrival(mine) for t in tickets)


def _arrival(ticket: Ticket) -> tuple[float, str]:
    return ticket.at, ticket.id


def _reason(ticket: Ticket, free: int, slot_total: int, ahead: int, holding: Sequence[Ticket]) -> Reason:
    by_holder: dict[tuple[str, str], list[Ticket]] = {}
    for t in sorted(holding, key=_arrival):  # a cluster has a ticket for each of its nodes
        by_holder.setdefault((t.kind, t.id), []).append(t)
    who = ", ".join(
        f"{same[0].kind} {same[0].name} holds {sum(t.slots for t in same)}" for same in by_holder.values()
    )
    behind = f", behind {counted(ahead, 'job')}" if ahead else ""
    # what holders have then adds up to more than the machine has
    shared = ", and some are shared" if sum(t.slots for t in holding) > slot_total else ""
    held = f"{shared}: {who}" if who else ""
    wanted = (
        f"all {slot_total} slots"
        if ticket.slots >= slot_total > 1
        else f"{ticket.slots} of {slot_total} slots"
    )
    if slot_total == 1:
        wanted = "the only slot"
    now = max(0, free)
    are_free = {0: "no slot is", 1: "1 is"}.get(now, f"{now} are")
    return Reason(
        "slots",
        f"Waits for {wanted}{behind}; {are_free} free{held}.",
        "It starts automatically; to start it sooner, stop what holds slots.",
        ahead=ahead,
    )


def listing(
    tickets: Sequence[Ticket],
    facts: NodeFacts,
    usable: Sequence[str],
    foreign: Mapping[str, Holder],
    memory: Mapping[str, int],
) -> NodeSlots:
    """List the slots of a machine, each with its holder.

    Args:
        tickets: tickets of the machine.
        facts: resources of the machine.
        usable: GPUs that this user may use.
        foreign: GPU → process on it that belongs to no cluster or job.
        memory: GPU → bytes in use.
    """
    waiting = tuple(_holder(t) for t in sorted(tickets, key=lambda t: t.at) if not t.holds)
    holding = [t for t in tickets if t.holds]
    if facts.gpus:
        by_device = {d: _holder(t) for t in holding for d in t.devices}
        slots = tuple(Slot(f"cuda:{d}", by_device.get(d) or foreign.get(d), memory.get(d)) for d in usable)
        return NodeSlots(facts.name, slots, waiting)
    holders = [_holder(t) for t in holding for _ in range(t.slots)]
    count = slot_count(facts)
    listed = max(count, len(holders))
    return NodeSlots(
        facts.name,
        tuple(Slot(f"cpu:{i}", holders[i] if i < len(holders) else None) for i in range(listed)),
        waiting,
        listed - count,
    )


def node_of(nodes: Sequence[NodeSlots], identity: str) -> NodeSlots:
    """Find the machine on which a holder has slots.

    Args:
        nodes: The machines to search.
        identity: The holder's id.

    Raises:
        NotFound: no machine has a slot with this holder's id.
    """
    for node in nodes:
        if any(slot.held_by is not None and slot.held_by.id == identity for slot in node.slots):
            return node
    raise _no_holder(identity, ", ".join(node.name for node in nodes))


def holder(node: NodeSlots, identity: str) -> Holder:
    """Find the holder of a slot of a machine by its id.

    Args:
        node: The machine.
        identity: The holder's id.

    Raises:
        NotFound: no slot of the machine has this holder's id.
    """
    for slot in node.slots:
        if slot.held_by is not None and slot.held_by.id == identity:
            return slot.held_by
    raise _no_holder(identity, node.name)


def _no_holder(identity: str, where: str) -> NotFound:
    return NotFound(
        f"No process {identity} holds a slot of {where}.",
        "It may have ended; `dtrain-lab slots --json` lists them.",
    )


def _holder(ticket: Ticket) -> Holder:
    return Holder(ticket.kind, ticket.id, ticket.name, ticket.owner, ticket.pid)
