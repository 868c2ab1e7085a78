"""`dtrain-lab profile …`."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import click
from rich.table import Table

from dtrain_lab.backends import registry
from dtrain_lab.cli.show import as_json, console, print_json, reports_errors
from dtrain_lab.core.plan import Request, default_ranks, most_ranks
from dtrain_lab.services import environment, profiles


@click.group()
def profile() -> None:
    """Look at profiles: named places to run."""


@profile.command("list")
@as_json
@reports_errors
def listing(as_json: bool) -> None:
    """List profiles; a bad file is listed with what is wrong in it."""
    found = profiles.listing()
    if as_json:
        print_json(found)
        return
    table = Table(box=None, pad_edge=False)
    for column in ("name", "back-end", "file"):
        table.add_column(column)
    for item in found:
        problem = f"{item.error.message} {item.error.hint}" if item.error else ""
        table.add_row(item.name, item.backend or "–", problem or item.file or "built in")
    console.print(table)


@profile.command()
@click.argument("name")
@as_json
@reports_errors
def check(name: str, as_json: bool) -> None:
    """Check that a profile can run here, without starting anything."""
    report = asyncio.run(_check(name))
    if as_json:
        print_json(report)
        return
    console.print(f"{name} can run here.")
    for key, value in report.items():
        console.print(f"  {key}: {value}")


async def _check(name: str) -> dict[str, Any]:
    found = profiles.load(name)
    backend = registry.backend(found.backend)
    facts = await backend.facts()
    plan = backend.plan(facts, found, Request(profile=name), python=sys.executable, directory="/")
    await environment.check(sys.executable)
    return {
        "name": name,
        "backend": found.backend,
        "node": facts.name,
        "cpus": facts.cpus,
        "gpus": facts.gpus,
        "memory_gib": round(facts.memory_bytes / 2**30, 1),
        "ranks": plan.size,
        "default_ranks": default_ranks(facts),
        "most_ranks": most_ranks(facts),
        "collectives": plan.collectives,
        "threads_per_rank": plan.nodes[0].threads,
        "python": plan.python,
    }
