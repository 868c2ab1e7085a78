"""Slots of a machine without a scheduler: who holds them, who waits, and who is next. Pure.

A slot is a GPU; where there is none, a share of a core. First come, first served, all slots of a job or none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.core.cluster import Reason
from dtrain_lab.core.job import JobRecord
from dtrain_lab.core.plan import NodeFacts
from dtrain_lab.errors import NotFound

SLOTS_PER_CORE = 8
"""CPU ranks wait for each other most of the time; this many a core still get on."""

REFUSED = 3
"""Exit status of a node's look at its slots where it would not end a process; its output says why."""

HolderKind = Literal["cluster", "job", "foreign"]


class Ticket(Struct, frozen=True):
    """Somebody who holds slots, or waits for them.

    `devices`: GPUs by their names on the machine; empty on CPUs and while it waits. `ready`: it would start
    if there were room; a job that waits for another's end keeps its place, and nobody out.
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


class Holder(Struct, frozen=True):
    """Who holds a slot. `may_stop`: a process of this user's that is neither a cluster's nor a job's."""

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
    """The slots of a machine."""

    name: str
    slots: tuple[Slot, ...]
    waiting: tuple[Holder, ...] = ()


class Slots(Struct, frozen=True):
    """What `slots` answers."""

    nodes: tuple[NodeSlots, ...]


def job_ticket(record: JobRecord, pid: int, started: float, size: int) -> Ticket:
    """The ticket of a job that queues up.

    Args:
        record: of the job.
        pid: of the process that runs its script.
        started: when that did, as `machine.processes.started` has it.
        size: slots that it needs on this machine.
    """
    ready = record.request.after is None
    return Ticket(
        record.id, "job", record.name, record.owner, pid, started, size, record.created_at, ready=ready
    )


def in_use(tickets: bytes, living: Collection[int]) -> int:
    """Slots that are held or waited for on another machine.

    Args:
        tickets: its tickets, a line of JSON each.
        living: pids of its processes.
    """
    try:
        found = msgspec.json.Decoder(Ticket).decode_lines(tickets)
    except msgspec.DecodeError:  # another version's: hosts are taken in the profile's order then
        return 0
    return sum(ticket.slots for ticket in found if ticket.pid in living)


def total(facts: NodeFacts) -> int:
    """Slots of a machine."""
    return facts.gpus or SLOTS_PER_CORE * facts.cpus


def chosen(
    count: int,
    usable: Sequence[str],
    held: Collection[str],
    taken: Collection[str],
    keep: Sequence[str] = (),
) -> tuple[str, ...]:
    """GPUs for somebody who may start: free ones first, then those that are only computed on.

    Args:
        count: how many; where there are fewer, all.
        usable: those there are.
        held: those that others hold.
        taken: those that somebody computes on.
        keep: its own already; they stay the first.
    """
    kept = [name for name in keep if name in usable][:count]
    others = [name for name in usable if name not in kept]
    order = sorted(others, key=lambda name: (name in held, name in taken))
    return (*kept, *sorted(order[: count - len(kept)], key=usable.index))


def turn(
    tickets: Sequence[Ticket],
    mine: str,
    facts: NodeFacts,
    usable: Sequence[str],
    taken: Collection[str] = (),
) -> Ticket | Reason:
    """May this one go?

    Args:
        tickets: of this machine.
        mine: id of who asks; it has a ticket.
        facts: of the machine.
        usable: its GPUs that who asks may use.
        taken: those that somebody computes on.

    Returns:
        Its ticket as it then holds its slots; or why it has to wait.
    """
    room = total(facts)
    holding = [t for t in tickets if t.holds]
    busy = {d for t in holding for d in t.devices}
    free = len(set(usable) - busy) if facts.gpus else room - sum(t.slots for t in holding)
    waiting = sorted((t for t in tickets if t.ready and not t.holds), key=_place)
    for ahead, ticket in enumerate(waiting):
        if ticket.id != mine:
            continue
        if ahead == 0 and ticket.slots <= free:
            return replace(ticket, holds=True, devices=chosen(ticket.slots, usable, busy, taken))
        return _reason(ticket, free, room, ahead, holding)
    raise KeyError(mine)


def keeps_earlier_waiting(tickets: Sequence[Ticket], mine: Ticket) -> bool:
    """Does somebody who came before this holder wait?"""
    return any(t.ready and not t.holds and _place(t) < _place(mine) for t in tickets)


def _place(ticket: Ticket) -> tuple[float, str]:
    return ticket.at, ticket.id


def _reason(ticket: Ticket, free: int, room: int, ahead: int, holding: Sequence[Ticket]) -> Reason:
    by_holder: dict[tuple[str, str], list[Ticket]] = {}
    for t in sorted(holding, key=_place):  # a cluster has a ticket for each of its nodes
        by_holder.setdefault((t.kind, t.id), []).append(t)
    who = ", ".join(
        f"{same[0].kind} {same[0].name} holds {sum(t.slots for t in same)}" for same in by_holder.values()
    )
    before = f"{ahead} job{'s are' if ahead > 1 else ' is'} ahead. " if ahead else ""
    held = f": {who}" if who else ""
    wanted = f"{ticket.slots} slot{'s' if ticket.slots > 1 else ''}"
    return Reason(
        "slots",
        f"{before}It needs {wanted}; {max(0, free)} of {room} are free{held}.",
        "It starts by itself; stop what holds slots to start it sooner.",
        ahead=ahead,
    )


def shown(
    tickets: Sequence[Ticket],
    facts: NodeFacts,
    usable: Sequence[str],
    foreign: Mapping[str, Holder],
    memory: Mapping[str, int],
) -> NodeSlots:
    """The slots of a machine, each with its holder.

    Args:
        tickets: of the machine.
        facts: of the machine.
        usable: its GPUs that who looks may use.
        foreign: GPU → a process of somebody else on it.
        memory: GPU → bytes in use.
    """
    waiting = tuple(_holder(t) for t in sorted(tickets, key=lambda t: t.at) if not t.holds)
    holding = [t for t in tickets if t.holds]
    if facts.gpus:
        by_device = {d: _holder(t) for t in holding for d in t.devices}
        slots = tuple(Slot(f"cuda:{d}", by_device.get(d) or foreign.get(d), memory.get(d)) for d in usable)
        return NodeSlots(facts.name, slots, waiting)
    holders = [_holder(t) for t in holding for _ in range(t.slots)]
    count = max(total(facts), len(holders))
    return NodeSlots(
        facts.name,
        tuple(Slot(f"cpu:{i}", holders[i] if i < len(holders) else None) for i in range(count)),
        waiting,
    )


def node_of(nodes: Sequence[NodeSlots], identity: str) -> NodeSlots:
    """The machine where somebody of this id holds slots.

    Raises:
        NotFound: on none.
    """
    for node in nodes:
        if any(slot.held_by is not None and slot.held_by.id == identity for slot in node.slots):
            return node
    raise _no_holder(identity, ", ".join(node.name for node in nodes))


def holder(node: NodeSlots, identity: str) -> Holder:
    """Who holds a slot of a machine, by its id.

    Raises:
        NotFound: nobody of this id does.
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
