"""`dtrain-lab profile …`."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import click
import msgspec
from rich.table import Table

from dtrain_lab.backends import registry
from dtrain_lab.cli.show import as_json, console, print_json, reports_errors
from dtrain_lab.core import fitness, spread
from dtrain_lab.core import ranks as rank_sets
from dtrain_lab.core.amounts import size_text
from dtrain_lab.core.fitness import Check
from dtrain_lab.core.plan import Request
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
    """Check that a profile can run: asks every node, starts no world."""
    report = asyncio.run(_check(name))
    if as_json:
        print_json(report)
        return
    table = Table(box=None, pad_edge=False)
    columns = ("node", "cpus", "gpus", "memory_gib", "python", "torch", "driver", "shm_gib", "interfaces")
    for column in columns:
        table.add_column(column.replace("_gib", " GiB"))
    for node in report["nodes"]:
        table.add_row(*(str(node[column]) for column in columns))
    console.print(table)
    between = report["network"]
    if between is not None:
        console.print(
            f"From {between['second']} to {between['first']} ({between['interface']}, TCP): "
            f"{between['speed']['round_trip_s'] * 1e6:.0f} µs there and back, "
            f"{size_text(int(between['speed']['bytes_per_s']))} a second."
        )
    for warning in report["warnings"]:
        console.print(warning)
    ask = report["ask"]
    console.print(
        f"{name} can run. There is room for {rank_sets.count(ask['ranks_per_node'])} on each of "
        f"{len(report['nodes'])} node{'s' if len(report['nodes']) > 1 else ''}, "
        f"with {ask['cpus_per_rank']} CPU and {ask['memory_gib_per_rank']:g} GiB for each."
    )


async def _check(name: str) -> dict[str, Any]:
    found = profiles.load(name)
    backend = registry.backend(found.backend)
    if found.backend == "local":
        await environment.check(sys.executable)
    checks = await backend.checks(found, sys.executable)
    wrong = fitness.unfit(checks)
    if wrong is not None:
        raise wrong
    between = await backend.speed(found, sys.executable, checks)
    facts = await backend.facts(found)
    plan = backend.plan(facts, found, Request(profile=name), python=sys.executable, directory="/")
    nodes = [_node(node, one) for node, one in checks.items()]
    least = min(checks.values(), key=lambda c: (c.facts.gpus, c.facts.cpus)).facts
    per_node = spread.room(least, found)
    return {
        "name": name,
        "backend": found.backend,
        "nodes": nodes,
        "ranks": plan.size,
        "collectives": plan.collectives,
        "network": msgspec.to_builtins(between),
        "warnings": fitness.warnings(checks),
        "ask": {
            "nodes": len(nodes),
            "ranks_per_node": per_node,
            "cpus_per_rank": max(1, least.cpus // per_node),
            "memory_gib_per_rank": round(least.memory_bytes / 2**30 / per_node, 1),
        },
    }


def _node(name: str, one: Check) -> dict[str, Any]:
    return {
        "node": name,
        "cpus": one.facts.cpus,
        "gpus": one.facts.gpus,
        "memory_gib": round(one.facts.memory_bytes / 2**30, 1),
        "python": one.versions.get("python", ""),
        "torch": one.versions.get("torch", ""),
        "dtrain_lab": one.versions.get("dtrain-lab", ""),
        "driver": one.driver or "–",
        "shm_gib": round(one.shm_bytes / 2**30, 1),
        "files": one.files,
        "processes": one.processes,
        "interfaces": ", ".join(f"{i.name} {i.address}" for i in one.interfaces),
    }
