"""`dtrain-lab submit`, `job …`, `script`, `slots`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.table import Table

from dtrain_lab.api.job import Job, job, jobs
from dtrain_lab.api.portal import Portal
from dtrain_lab.cli.show import as_json, console, print_json, reports_errors
from dtrain_lab.core import budget, room
from dtrain_lab.core import ranks as rank_sets
from dtrain_lab.core.amounts import duration
from dtrain_lab.core.finding import Finding
from dtrain_lab.core.job import Job as Info
from dtrain_lab.core.job import JobPlan, JobRequest
from dtrain_lab.core.kinds import JOB_ENDED
from dtrain_lab.core.lines import job_line
from dtrain_lab.core.notebook.script import convert
from dtrain_lab.core.notebook.source import read
from dtrain_lab.errors import BadRequest, NotFound
from dtrain_lab.services import slots as service_slots
from dtrain_lab.services import submission

FOLLOW_S = 0.3


@click.command()
@click.argument("notebook")
@click.option("--profile", default="local", help="Where to run.")
@click.option("--ranks", type=int, help="How many; the plan chooses nodes.")
@click.option("--nodes", type=int, help="Nodes.")
@click.option("--ranks-per-node", type=int, help="Ranks on each.")
@click.option("--name", help="Of the job.")
@click.option("--param", "params", multiple=True, help="k=v for the cell tagged parameters; may be repeated.")
@click.option("--partition", help="Of Slurm, in the place of the profile's.")
@click.option("--environment", help='"current", or kind:path, in the place of the profile\'s.')
@click.option("--interface", help="Network interface, in the place of the profile's.")
@click.option("--option", "options", multiple=True, help="A line for the scheduler; may be repeated.")
@click.option("--time", "limit", help='Time limit, "02:00:00".')
@click.option("--stage", multiple=True, help="Data to copy to each node's own disk; may be repeated.")
@click.option("--launcher", type=click.Choice(["srun", "torchrun"]), help="Of Slurm.")
@click.option("--after", help="A job that has to succeed first.")
@click.option("--retries", type=int, default=0, help="How often a failed run begins anew.")
@click.option("--mail", help="Address that Slurm writes to.")
@click.option("--notify", help="A command that the job runs at its end.")
@click.option("--dry-run", is_flag=True, help="Show what would be submitted; nothing is.")
@as_json
@reports_errors
def submit(
    notebook: str,
    profile: str,
    ranks: int | None,
    nodes: int | None,
    ranks_per_node: int | None,
    name: str | None,
    params: tuple[str, ...],
    partition: str | None,
    environment: str | None,
    interface: str | None,
    options: tuple[str, ...],
    limit: str | None,
    stage: tuple[str, ...],
    launcher: Any,
    after: str | None,
    retries: int,
    mail: str | None,
    notify: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Submit a notebook as a job. It runs without this terminal."""
    portal = Portal.get("terminal")
    request = JobRequest(
        notebook=notebook,
        profile=profile,
        ranks=ranks,
        nodes=nodes,
        ranks_per_node=ranks_per_node,
        name=name,
        parameters=dict(_parameter(text) for text in params),
        time=limit,
        launcher=launcher,
        after=after,
        retries=retries,
        mail=mail,
        notify=notify,
        python=sys.executable,
        partition=partition,
        environment=environment,
        interface=interface,
        options=options,
        stage=stage,
    )
    file = Path(notebook).expanduser().absolute()
    if dry_run:
        _show_plan(portal.call(portal.jobs.plan(request, file, ask=True)), as_json)
        return
    info = portal.call(portal.jobs.submit(request, file))
    if as_json:
        print_json(info)
    else:
        console.print(f"{info.name} is job {info.id}: {info.summary.text}")
        console.print(f"Its log: dtrain-lab job logs -f {info.id}")


@click.group("job")
def job_group() -> None:
    """Jobs: list, look, read, cancel, resume, delete."""


@job_group.command("list")
@as_json
@reports_errors
def listing(as_json: bool) -> None:
    """List jobs, newest first."""
    infos = [one._info for one in jobs()]
    if as_json:
        print_json(infos)
    elif not infos:
        console.print("No job. Submit one: dtrain-lab submit NOTEBOOK")
    else:
        table = Table(box=None, pad_edge=False)
        for column in ("id", "name", "state", "profile", "size", "time", ""):
            table.add_column(column)
        for info in infos:
            size = f"{info.size.nodes} × {info.size.ranks_per_node}"
            table.add_row(info.id, info.name, info.state, info.profile, size, _took(info), info.summary.text)
        console.print(table)


@job_group.command()
@click.argument("identity", metavar="ID")
@as_json
@reports_errors
def show(identity: str, as_json: bool) -> None:
    """Show a job."""
    info = job(identity).job()
    if as_json:
        print_json(info)
        return
    console.print(f"{info.name} ({info.id}): {info.summary.text}")
    if info.reason is not None:
        console.print(f"{info.reason.message} {info.reason.hint}")
    if info.error is not None:
        for line in info.error.traceback:
            click.echo(f"  {line}")
    console.print(f"Folder: {info.directory}")


@job_group.command()
@click.argument("identity", metavar="ID")
@click.option("-f", "--follow", is_flag=True, help="Go on until the job ends.")
@click.option("--rank", help='A rank, or a set as "0,2-3".')
@as_json
@reports_errors
def logs(identity: str, follow: bool, rank: str | None, as_json: bool) -> None:
    """Print what the ranks wrote, each line with its rank."""
    portal = Portal.get("terminal")
    info = portal.call(portal.jobs.job(identity))
    wanted = None if rank is None else rank_sets.parse(rank, info.world.size)
    offset = "start"
    told: list[Any] = []
    while True:
        reader = portal.call(portal.jobs.reader(info.id))
        piece = portal.call(reader.logs(offset=offset, ranks=wanted))
        for line in piece.lines:
            if as_json:
                told.append(line)
            else:
                click.echo(job_line(line))
        moved = piece.offset != offset
        offset = piece.offset
        if not moved and (piece.end or not follow):
            break
        if not moved:
            time.sleep(FOLLOW_S)
    if as_json:
        print_json(told)


@job_group.command()
@click.argument("identity", metavar="ID")
@click.option("--wait/--no-wait", default=True, help="Wait until nothing of it is left.")
@as_json
@reports_errors
def cancel(identity: str, wait: bool, as_json: bool) -> None:
    """End a job, on all its nodes."""
    target = job(identity)
    target.cancel()
    if wait:
        target.wait(60)
    _done(target, as_json)


@job_group.command()
@click.argument("identity", metavar="ID")
@as_json
@reports_errors
def resume(identity: str, as_json: bool) -> None:
    """Submit it again, from its last complete checkpoint."""
    _done(job(identity).resume(), as_json)


@job_group.command()
@click.argument("identity", metavar="ID")
@as_json
@reports_errors
def duplicate(identity: str, as_json: bool) -> None:
    """Submit its notebook again, as it is now, with the same request."""
    portal = Portal.get("terminal")
    request = portal.call(portal.jobs.request_of(identity))
    file = Path(request.notebook).expanduser().absolute()
    request = msgspec.structs.replace(request, name=None, python=sys.executable)
    info = portal.call(portal.jobs.submit(request, file))
    _done(Job(portal, info), as_json)


@job_group.command()
@click.argument("identity", metavar="ID")
@as_json
@reports_errors
def delete(identity: str, as_json: bool) -> None:
    """Remove a job that has ended, with its folder and checkpoints."""
    target = job(identity)
    target.delete()
    if as_json:
        print_json({"id": target.id, "name": target.name, "state": "deleted"})
    else:
        console.print(f"{target.name} ({target.id}) is deleted, with its folder.")


@job_group.command()
@click.argument("identity", metavar="ID")
@click.option("--ranks", help='A rank, or a set as "0,2-3".')
@as_json
@reports_errors
def stacks(identity: str, ranks: str | None, as_json: bool) -> None:
    """Print what the threads of each rank do now."""
    found = job(identity).stacks(ranks)
    if as_json:
        print_json([{"rank": rank, "text": text} for rank, text in found.items()])
    else:
        for rank, text in found.items():
            console.rule(f"rank {rank}", align="left")
            click.echo(text)


@job_group.command()
@click.argument("identity", metavar="ID")
@click.argument("file", required=False)
@as_json
@reports_errors
def export(identity: str, file: str | None, as_json: bool) -> None:
    """Write a job for a colleague: notebook, script, packages, parameters, figures and logs."""
    made = job(identity)
    info = made.job()
    target = Path(file or f"{info.name}-{info.id}.tar.gz")
    try:
        made.export(target)
    except OSError as error:
        raise BadRequest(f"{target} can't be written: {error.strerror}.", "Choose another file.") from error
    if as_json:
        print_json({"id": info.id, "file": str(target), "bytes": target.stat().st_size})
    else:
        console.print(f"{info.name} ({info.id}) is in {target}; its checkpoints stayed in {info.directory}.")


@job_group.command()
@click.option("--older-than", type=float, default=30.0, help="Days since its end.")
@click.option("--yes", is_flag=True, help="Delete without asking.")
@as_json
@reports_errors
def prune(older_than: float, yes: bool, as_json: bool) -> None:
    """Delete jobs that ended long ago, with their folders and checkpoints."""
    before = time.time() - older_than * 86400
    old = [
        one
        for one in jobs()
        if one._info.state in JOB_ENDED and (one._info.ended_at or one._info.created_at) < before
    ]
    if old and not yes and not as_json:
        click.confirm(f"Delete {len(old)} jobs with their folders and checkpoints?", abort=True)
    for one in old:
        one.delete()
    if as_json:
        print_json([{"id": one.id, "name": one.name} for one in old])
    else:
        console.print(f"{len(old)} deleted.")


@click.command()
@click.argument("notebook")
@click.option("--param", "params", multiple=True, help="k=v for the cell tagged parameters; may be repeated.")
@as_json
@reports_errors
def script(notebook: str, params: tuple[str, ...], as_json: bool) -> None:
    """Print a notebook as the script that a job runs."""
    file = Path(notebook)
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(f"There is no notebook {file}.", "Check the path.", code="no_notebook") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"{file} can't be read: {error}.", "Check the path.") from error
    made = convert(read(text, str(file)), title=file.name, parameters=dict(map(_parameter, params)))
    if as_json:
        print_json({"script": made.text, "findings": made.findings, "installs": made.installs})
        return
    for finding in made.findings:
        click.echo(_finding(finding), err=True)
    submission.refuse(made.findings)
    click.echo(made.text, nl=False)


@click.command()
@click.option("--profile", default="local", help="Whose machines to ask; this one by itself.")
@click.option("--stop", metavar="ID", help="End a process of yours on a GPU, by its id in --json.")
@as_json
@reports_errors
def slots(profile: str, stop: str | None, as_json: bool) -> None:
    """Show who holds the slots of this machine, or of a profile's hosts, and who waits."""
    wanted = service_slots.look(profile) if stop is None else service_slots.stop(stop, profile)
    found = Portal.get().call(wanted)
    if as_json:
        print_json(found)
        return
    for node in found.nodes:
        free = sum(slot.held_by is None for slot in node.slots)
        console.print(f"{node.name}: {free} of {len(node.slots)} slots are free")
        table = Table(box=None, pad_edge=False)
        for column in ("slot", "held by", "owner", "process"):
            table.add_column(column)
        for slot in node.slots:
            if slot.held_by is not None:
                held = slot.held_by
                table.add_row(slot.device, f"{held.kind} {held.name}", held.owner, str(held.pid or "–"))
        if table.row_count:
            console.print(table)
        for holder in node.waiting:
            console.print(f"waits: {holder.kind} {holder.name} ({holder.owner})")


def _parameter(text: str) -> tuple[str, Any]:
    name, sep, value = text.partition("=")
    if not sep:
        raise BadRequest(f'--param {text}: there is no "=".', "Write it as --param name=value.")
    try:
        return name.strip(), json.loads(value)
    except json.JSONDecodeError:
        return name.strip(), value


def _finding(finding: Finding) -> str:
    place = f"cell {finding.cell}, line {finding.line}: " if finding.cell else ""
    return f"{finding.severity}: {place}{finding.message} {finding.fix}".rstrip()


def _show_plan(made: JobPlan, as_json: bool) -> None:
    if as_json:
        print_json(made)
        return
    for finding in made.findings:
        console.print(_finding(finding), markup=False)
        if finding.diff:
            click.echo(finding.diff)
    if made.size is not None:
        console.print(f"{made.size.nodes} × {made.size.ranks_per_node} ranks: {made.command}", markup=False)
    if made.room is not None and (text := room.sentence(made.room)):
        console.print(text, markup=False)
    if made.budget is not None:
        console.print(budget.sentence(made.budget), markup=False)
    if made.expected_start_at is not None:
        console.print(f"It would start at {time.ctime(made.expected_start_at)}.")
    for file in made.files:
        console.print(f"  {file.path}  {file.bytes:,} bytes", markup=False)
    for file in made.files:
        if file.path.endswith(".sh"):
            console.rule(file.path, align="left")
            click.echo(file.text)


def _took(info: Info) -> str:
    if info.started_at is None:
        return "–"
    return duration((info.ended_at or time.time()) - info.started_at)


def _done(target: Job, as_json: bool) -> None:
    info = target.job()
    if as_json:
        print_json(info)
    else:
        console.print(f"{info.name} ({info.id}): {info.summary.text}")
