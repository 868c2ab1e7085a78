"""`dtrain-lab profile …`."""

from __future__ import annotations

import click

from dtrain_lab.api.portal import Portal
from dtrain_lab.cli.base.group import Group
from dtrain_lab.cli.base.show import as_json, confirm, console, print_json, reports_errors
from dtrain_lab.cli.base.tables import print_table
from dtrain_lab.services.profiles import check as profile_check
from dtrain_lab.services.profiles import files as profiles
from dtrain_lab.text.units import size_text


@click.group(cls=Group)
def profile() -> None:
    """List, check and delete profiles: named places to run."""


@profile.command("list")
@as_json
@reports_errors
def listing(as_json: bool) -> None:
    """List profiles; an invalid file is listed with its error."""
    listed = profiles.listing()
    if as_json:
        print_json(listed)
        return
    rows = []
    for item in listed:
        problem = f"{item.error.message} {item.error.hint}" if item.error else ""
        rows.append((item.name, item.backend or "–", problem or item.file or "built in"))
    print_table(("name", "back-end", "file"), rows)


@profile.command()
@click.argument("name")
@as_json
@reports_errors
def check(name: str, as_json: bool) -> None:
    """Check that a profile can run, on every node; no cluster is started."""
    report = Portal.get().call(profile_check.check(profiles.load(name)))
    if as_json:
        print_json(report)
        return
    framework = report.framework
    columns = ("node", "cpus", "gpus", "memory_gib", "python", framework, "driver", "shm_gib", "interfaces")
    print_table(
        [column.replace("_gib", " GiB") for column in columns],
        [[str(getattr(node, column)) for column in columns] for node in report.nodes],
    )
    between = report.network
    if between is not None:
        console.print(
            f"From {between.second} to {between.first} ({between.interface}, TCP): "
            f"{between.speed.round_trip_s * 1e6:.0f} µs there and back, "
            f"{size_text(int(between.speed.bytes_per_s))} a second."
        )
    for warning in report.warnings:
        console.print(warning)
    console.print(f"{name} can run. {report.capacity}")


@profile.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Delete without asking.")
@as_json
@reports_errors
def delete(name: str, yes: bool, as_json: bool) -> None:
    """Delete a profile's file; clusters and jobs that use it keep running."""
    file = profiles.own_file(name)
    confirm(f"Delete the profile {name} ({file})?", yes=yes, as_json=as_json)
    profiles.delete(name)
    if as_json:
        print_json({"name": name, "state": "deleted"})
    elif name in profiles.BUILT_IN:
        console.print(f"{file} is deleted: {name} is the built-in profile again.", markup=False)
    else:
        console.print(f"{name} is deleted.", markup=False)
