"""`dtrain-lab slots`."""

from __future__ import annotations

import click

from dtrain_lab.api.portal import Portal
from dtrain_lab.cli.base.show import (
    as_json,
    console,
    print_json,
    reports_errors,
)
from dtrain_lab.cli.base.tables import print_table
from dtrain_lab.placement.capacity import SLOTS_PER_CORE
from dtrain_lab.services.profiles import slots as service_slots
from dtrain_lab.text.units import counted


@click.command(short_help="Show who holds the slots of a machine, and who waits.")
@click.option("--profile", default="local", help="Profile whose machines are asked.")
@click.option("--stop", metavar="ID", help="End your process on a GPU, by its id in --json.")
@as_json
@reports_errors
def slots(profile: str, stop: str | None, as_json: bool) -> None:
    """Show who holds the slots of this machine, or of a profile's hosts, and who waits."""
    wanted = service_slots.listing(profile) if stop is None else service_slots.stop(stop, profile)
    answer = Portal.get().call(wanted)
    if as_json:
        print_json(answer)
        return
    for node in answer.nodes:
        free = sum(slot.held_by is None for slot in node.slots)
        total = counted(len(node.slots) - node.excess, "slot is", "slots are")
        shared = ", and some are shared" if node.excess else ""
        console.print(f"{node.name}: {free} of {total} free{shared}")
        rows = []
        for slot in node.slots:
            if slot.held_by is not None:
                held = slot.held_by
                rows.append((slot.device, f"{held.kind} {held.name}", held.owner, str(held.pid or "–")))
        if rows:
            print_table(("slot", "held by", "owner", "process"), rows)
        for holder in node.waiting:
            console.print(f"waits: {holder.kind} {holder.name} ({holder.owner})")
    if any(slot.device.startswith("cpu:") for node in answer.nodes for slot in node.slots):
        console.print(
            f"Without GPUs, a core has {SLOTS_PER_CORE} slots, which share it. Jobs wait for free slots; "
            "clusters don't."
        )
