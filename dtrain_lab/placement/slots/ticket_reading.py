"""Reads tickets for slots, also of other versions of dtrain-lab: ignoring one would assign its slots twice.
Pure.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from dtrain_lab.placement.slots.slots import Ticket


def of_another_version(data: bytes, name: str = "") -> Ticket:
    """Read what can be read of a ticket that this version can't decode; it counts as holding its slots.

    Args:
        data: Contents of the file.
        name: Name of the file without its suffix: id and pid.

    Returns:
        The ticket; its `started` is 0 if it isn't known.
    """
    identity, _, pid = name.rpartition(".")
    try:
        decoded = msgspec.json.decode(data)
    except msgspec.DecodeError:  # only its name is known
        decoded = {}
    fields: dict[str, Any] = decoded if isinstance(decoded, dict) else {}

    def value(key: str, default: Any) -> Any:
        given = fields.get(key, default)
        return given if isinstance(given, type(default)) else default

    devices = fields.get("devices")
    return Ticket(
        id=value("id", identity),
        kind="job",
        name=value("name", identity),
        owner=value("owner", ""),
        pid=value("pid", int(pid) if pid.isdecimal() else 0),
        started=value("started", 0.0),
        slots=max(1, value("slots", 1)),
        at=value("at", 0.0),
        holds=True,
        devices=tuple(map(str, devices)) if isinstance(devices, list) else (),
        system=value("system", ""),
    )


def in_use(tickets: bytes, living: Collection[int]) -> int:
    """Count the slots that are held or waited for on another machine.

    Args:
        tickets: The machine's tickets, one JSON document per line.
        living: Pids of its processes.
    """
    count = 0
    for line in tickets.splitlines():
        if not line.strip():
            continue
        try:
            ticket = msgspec.json.decode(line, type=Ticket)
        except msgspec.DecodeError:
            ticket = of_another_version(line)
        # without a pid, whether it lives can't be known: then it counts
        count += ticket.slots if ticket.pid in living or not ticket.pid else 0
    return count
