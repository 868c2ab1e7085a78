"""`dtrain-lab job …`: jobs that were submitted."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click
import msgspec

from dtrain_lab.api.job import Job, job, jobs
from dtrain_lab.api.portal import Portal
from dtrain_lab.api.sweep import sweeps
from dtrain_lab.cells.merge import job_line
from dtrain_lab.cli.base.group import Group
from dtrain_lab.cli.base.show import (
    about,
    all_threads,
    as_json,
    confirm,
    console,
    print_about,
    print_findings,
    print_json,
    print_line,
    print_stacks,
    reports_errors,
)
from dtrain_lab.cli.base.tables import print_table
from dtrain_lab.cli.jobs import logs as job_logs
from dtrain_lab.errors import BadRequest, DtrainError, Unreachable
from dtrain_lab.text import job_facts, job_rows
from dtrain_lab.text.units import counted
from dtrain_lab.wire.kinds import JOB_ENDED

CANCEL_WITHIN_S = 60.0


def _days(_: click.Context, __: click.Parameter, days: float) -> float:
    """Validate a number of days: 0 or more, not NaN."""
    if not days >= 0:
        raise click.BadParameter(f"{days:g} is not a number of days.")
    return days


@click.group("job", cls=Group)
def job_group() -> None:
    """Jobs: list, show, read logs, cancel, resume, delete."""


@job_group.command("list")
@click.option("--all", "each", is_flag=True, help="List each trial of a sweep; default: one row per sweep.")
@as_json
@reports_errors
def listing(each: bool, as_json: bool) -> None:
    """List jobs, newest first; the trials of a sweep in one row. With --json, all of them."""
    infos = [item.last_info for item in jobs()]
    if as_json:
        print_json(infos)
        return
    folded = [] if each else [item.last_info for item in sweeps()]
    rows = job_rows.rows(infos, folded, time.time())
    if rows:
        print_table(job_rows.COLUMNS, rows)
    else:
        console.print("No jobs. Submit one: dtrain-lab submit NOTEBOOK")


@job_group.command()
@click.argument("identity", metavar="ID")
@as_json
@reports_errors
def show(identity: str, as_json: bool) -> None:
    """Show a job."""
    info = job(identity).snapshot()
    if as_json:
        print_json(info)
        return
    console.print(about(info))
    if info.reason is not None:
        told = info.reason.message in info.summary.text
        console.print(info.reason.hint if told else f"{info.reason.message} {info.reason.hint}")
    if info.error is not None:
        for line in info.error.traceback:
            click.echo(f"  {line}")
    failed = job_facts.end_command_failure(info)
    if failed is not None and info.end_command is not None:
        console.print(failed)
        for line in info.end_command.output.splitlines():
            click.echo(f"  {line}")
    for name, value in job_facts.facts(info, time.time()):
        console.print(f"{name}: {value}")


@job_group.command(short_help="Print the ranks' output.")
@click.argument("identity", metavar="ID")
@click.option("-f", "--follow", is_flag=True, help="Follow the log until the job ends.")
@click.option("--rank", help='A rank, or a set such as "0,2-3".')
@as_json
@reports_errors
def logs(identity: str, follow: bool, rank: str | None, as_json: bool) -> None:
    """Print the ranks' output, each line with its rank; with -f and --json, one JSON object per line."""
    lines = job_logs.lines(Portal.get(), identity, rank, follow=follow)
    if as_json and not follow:
        print_json(list(lines))
        return
    for line in lines:
        if as_json:
            print_line(line)
        else:
            click.echo(job_line(line))


@job_group.command()
@click.argument("identity", metavar="ID")
@click.option("--wait/--no-wait", default=True, help="Wait until all its processes have ended.")
@as_json
@reports_errors
def cancel(identity: str, wait: bool, as_json: bool) -> None:
    """End a job, on all its nodes; one that has ended stays as it is."""
    target = job(identity)
    over = target.last_info.state in JOB_ENDED
    target.cancel()
    if wait:
        try:
            target.wait(CANCEL_WITHIN_S)
        except TimeoutError:
            raise Unreachable(
                f"{target.name} is still running {CANCEL_WITHIN_S:.0f} s after it was cancelled.",
                f"Check again: dtrain-lab job show {target.id}",
                code="not_ended",
            ) from None
    print_about(target.snapshot(), as_json=as_json, already=over)


@job_group.command()
@click.argument("identity", metavar="ID")
@click.option("--force", is_flag=True, help="Do it even if the job may still be running.")
@as_json
@reports_errors
def resume(identity: str, force: bool, as_json: bool) -> None:
    """Submit a job again, from its last complete checkpoint."""
    old = job(identity)
    print_about(old.resume(force=force).snapshot(), as_json=as_json)
    if not as_json:
        console.print(job_facts.start_of_continuation(old.last_info))


@job_group.command(short_help="Submit a job's notebook again, as it is now.")
@click.argument("identity", metavar="ID")
@as_json
@reports_errors
def duplicate(identity: str, as_json: bool) -> None:
    """Submit a job's notebook again, as it is now, with the same request."""
    portal = Portal.get()
    request, file = portal.call(portal.jobs.request_of(identity))
    python = sys.executable if request.kernel is None else None
    request = msgspec.structs.replace(request, python=python)
    info = portal.call(portal.jobs.submit(request, file, print_findings))
    print_about(Job(portal, info).snapshot(), as_json=as_json)


@job_group.command()
@click.argument("identity", metavar="ID")
@click.option("--yes", is_flag=True, help="Delete without asking.")
@click.option("--force", is_flag=True, help="Do it even if the job may still be running.")
@as_json
@reports_errors
def delete(identity: str, yes: bool, force: bool, as_json: bool) -> None:
    """Remove a job that has ended, with its folder and checkpoints."""
    target = job(identity)
    question = f"Delete {target.name} ({target.id}) with its folder and checkpoints?"
    confirm(question, yes=yes, as_json=as_json)
    target.delete(force=force)
    if as_json:
        print_json({"id": target.id, "name": target.name, "state": "deleted"})
    else:
        console.print(f"{target.name} ({target.id}) is deleted, with its folder.")


@job_group.command()
@click.argument("identity", metavar="ID")
@click.option("--ranks", help='A rank, or a set such as "0,2-3".')
@all_threads
@as_json
@reports_errors
def stacks(identity: str, ranks: str | None, all_threads: bool, as_json: bool) -> None:
    """Show the calls that the ranks are in; equal stacks once."""
    print_stacks(job(identity).stacks(ranks), all_threads=all_threads, as_json=as_json)


@job_group.command(short_help="Write a job to a .tar.gz for a colleague.")
@click.argument("identity", metavar="ID")
@click.argument("file", required=False)
@as_json
@reports_errors
def export(identity: str, file: str | None, as_json: bool) -> None:
    """Write a job for a colleague: notebook, script, packages, parameters, metrics and logs."""
    target_job = job(identity)
    info = target_job.snapshot()
    # a name with spaces would have to be quoted
    target = Path(file or f"{'-'.join(info.name.split())}-{info.id}.tar.gz")
    try:
        target_job.export(target)
    except OSError as error:
        raise BadRequest(f"{target} can't be written: {error.strerror}.", "Choose another file.") from error
    if as_json:
        print_json({"id": info.id, "file": str(target), "bytes": target.stat().st_size})
    else:
        console.print(f"{info.name} ({info.id}) is in {target}; its checkpoints stayed in {info.directory}.")


@job_group.command(short_help="Delete jobs that ended long ago.")
@click.option("--older-than", type=float, default=30.0, callback=_days, help="Days since a job's end.")
@click.option("--yes", is_flag=True, help="Delete without asking.")
@click.option("--dry-run", is_flag=True, help="List what would be deleted, and delete nothing.")
@as_json
@reports_errors
def prune(older_than: float, yes: bool, dry_run: bool, as_json: bool) -> None:
    """Delete jobs that ended long ago, with their folders and checkpoints.

    A job that was resumed counts from the end of the newest job that continues it. Trials of sweeps stay;
    "dtrain-lab sweep delete" deletes a sweep with its trials.
    """
    portal = Portal.get()
    ended = portal.call(portal.jobs.old(time.time() - older_than * 86400))
    old = [Job(portal, info) for info in ended if info.sweep is None]
    trials = len(ended) - len(old)
    if trials and not as_json:
        stay = counted(trials, "trial of a sweep stays", "trials of sweeps stay")
        console.print(f"{stay}; delete a whole sweep: dtrain-lab sweep delete ID", markup=False)
    if dry_run:
        if as_json:
            print_json([{"id": job.id, "name": job.name} for job in old])
        else:
            for job in old:
                console.print(f"{job.name} ({job.id})")
            console.print(f"{len(old)} would be deleted.")
        return
    if old:
        those = counted(len(old), "job with its folder", "jobs with their folders")
        question = f"Delete {those} and checkpoints?"
        confirm(question, yes=yes, as_json=as_json)
    failed: list[DtrainError] = []
    gone = []
    for job in old:
        try:
            job.delete()
        except DtrainError as error:  # the other jobs are still deleted
            failed.append(error)
        else:
            gone.append(job)
    if as_json:
        print_json([{"id": job.id, "name": job.name} for job in gone])
    else:
        console.print(f"{len(gone)} deleted.")
    if failed:
        others = f" ({len(failed) - 1} more like it)" if len(failed) > 1 else ""
        raise Unreachable(
            f"{len(failed)} could not be deleted: {failed[0].message}{others}",
            failed[0].hint,
            code="not_deleted",
            details={"errors": [error.as_dict() for error in failed]},
        )


@job_group.command("rebuild", short_help="Add jobs that are missing from the list.")
@click.argument("folder", required=False, type=click.Path(file_okay=False, path_type=Path))
@as_json
@reports_errors
def rebuild(folder: Path | None, as_json: bool) -> None:
    """Add jobs that are missing from the list, found by their folders.

    FOLDER contains the jobs' folders; default: those of all profiles, on this and other machines.
    """
    portal = Portal.get()
    rebuilt = portal.call(portal.jobs.rebuild(None if folder is None else folder.expanduser().resolve()))
    if as_json:
        print_json(rebuilt)
        return
    for problem in rebuilt.problems:
        click.echo(f"warning: {problem}", err=True)
    have = counted(rebuilt.found, "job has", "jobs have")
    console.print(f"{have} a folder; {rebuilt.added} added to the list.")
