"""`dtrain-lab sweep …`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dtrain_lab.api.portal import Portal
from dtrain_lab.api.sweep import STOP_WITHIN_S, find, sweeps
from dtrain_lab.cli.base.group import Group
from dtrain_lab.cli.base.show import (
    about,
    as_json,
    confirm,
    console,
    end_dry_run,
    print_about,
    print_findings,
    print_json,
    reports_errors,
)
from dtrain_lab.cli.base.tables import print_table
from dtrain_lab.cli.jobs.request_options import request_of, request_options
from dtrain_lab.errors import Unreachable
from dtrain_lab.jobs.command_line_values import once
from dtrain_lab.jobs.request_options import JOB_OPTIONS, SWEEP_OPTIONS
from dtrain_lab.sweeps.importance import sentence
from dtrain_lab.sweeps.space import from_text
from dtrain_lab.sweeps.trial_rows import best_first, header, row
from dtrain_lab.sweeps.trial_rows import parameters as trial_parameters
from dtrain_lab.text import rank_names
from dtrain_lab.text.state_words import sweep_word
from dtrain_lab.text.units import counted, duration
from dtrain_lab.wire.jobs.finding import line as finding_line
from dtrain_lab.wire.jobs.finding import problems
from dtrain_lab.wire.sweeps import SWEEP_ENDED, SweepPlan, SweepRequest

VARIES = 'name=value, name=2,4,8 or "name=loguniform(1e-5, 1e-1)"; may be repeated.'


@click.group("sweep", cls=Group)
def sweep_group() -> None:
    """Sweeps: vary a notebook's parameters over many jobs."""


@sweep_group.command("run")
@click.argument("notebook")
@click.option("--param", "params", multiple=True, help=VARIES)
@request_options(SweepRequest, (*SWEEP_OPTIONS, *JOB_OPTIONS))
@click.option("--dry-run", is_flag=True, help="Check the sweep without starting it.")
@as_json
@reports_errors
def run(notebook: str, params: tuple[str, ...], dry_run: bool, as_json: bool, **given: Any) -> None:
    """Start a sweep over a notebook. It keeps running when this terminal closes."""
    portal = Portal.get()
    parameters = [from_text(text) for text in params]
    once(name for name, _, _ in parameters)
    request = request_of(
        SweepRequest,
        notebook,
        given,
        space={name: value for name, value, varies in parameters if varies},
        parameters={name: value for name, value, varies in parameters if not varies},
    )
    file = Path(notebook).expanduser().absolute()
    if dry_run:
        plan = portal.call(portal.sweeps.plan(request, file, ask=True))
        _show_plan(plan, as_json)
        end_dry_run(plan.findings)
        return
    info = portal.call(portal.sweeps.create(request, file, print_findings))
    if as_json:
        print_json(info)
        return
    console.print(f"{info.name} is sweep {info.id}: {counted(info.total, 'trial')}, {info.parallel} at once.")
    console.print(f"Its state: dtrain-lab sweep show {info.id}")


@sweep_group.command("list")
@as_json
@reports_errors
def listing(as_json: bool) -> None:
    """List sweeps, newest first."""
    infos = [sweep.last_info for sweep in sweeps()]
    portal = Portal.get()
    for sweep in portal.call(portal.sweeps.unreadable()):
        called = f"{sweep.name} ({sweep.id})" if sweep.name else sweep.id
        click.echo(f"{called} can't be shown: {sweep.message} {sweep.hint}", err=True)
    if as_json:
        print_json(infos)
    elif not infos:
        console.print(
            "No sweeps. Start one: dtrain-lab sweep run NOTEBOOK --objective NAME --param NAME=VALUES"
        )
    else:
        rows = [(i.id, i.name, sweep_word(i.state, i.summary.code), i.profile, i.summary.text) for i in infos]
        print_table(("id", "name", "state", "profile", ""), rows)


@sweep_group.command()
@click.argument("identity", metavar="ID")
@as_json
@reports_errors
def show(identity: str, as_json: bool) -> None:
    """Show a sweep, its best trial, and which parameters matter."""
    info = find(identity).snapshot()
    if as_json:
        print_json(info)
        return
    console.print(about(info))
    if info.reason is not None and info.reason.hint:
        console.print(info.reason.hint)
    if info.best is not None:
        console.print(f"Best: {trial_parameters(info.best)}; job {info.best.job}")
    if info.importance is not None:
        of = "Importance of parameters: " if info.importance.shares else ""  # else a sentence of its own
        console.print(f"{of}{sentence(info.importance)}")
    if info.ran_s is not None:
        console.print(f"Time: {duration(info.ran_s)}")
    console.print(f"Folder: {info.directory}")


@sweep_group.command()
@click.argument("identity", metavar="ID")
@as_json
@reports_errors
def trials(identity: str, as_json: bool) -> None:
    """List the trials of a sweep, best first."""
    info = find(identity).snapshot()
    if as_json:
        print_json(info.trials)
        return
    print_table(header(info.objective), [row(trial) for trial in best_first(info)])


@sweep_group.command()
@click.argument("identity", metavar="ID")
@click.option("--wait/--no-wait", default=True, help="Wait until all trials have ended.")
@as_json
@reports_errors
def stop(identity: str, wait: bool, as_json: bool) -> None:
    """Stop a sweep and its trials; their checkpoints are kept. One that has ended stays as it is."""
    target = find(identity)
    over = target.last_info.state in SWEEP_ENDED
    try:
        target.stop(wait=wait)
    except TimeoutError:
        raise Unreachable(
            f"{target.name} is still running {STOP_WITHIN_S:.0f} s after the request to stop.",
            f"Check again: dtrain-lab sweep show {target.id}",
            code="not_ended",
        ) from None
    print_about(target.snapshot(), as_json=as_json, already=over)


@sweep_group.command()
@click.argument("identity", metavar="ID")
@as_json
@reports_errors
def resume(identity: str, as_json: bool) -> None:
    """Resume a stopped sweep from its trials' checkpoints."""
    target = find(identity)
    target.resume()
    print_about(target.snapshot(), as_json=as_json)


@sweep_group.command(short_help="Remove a sweep that has ended, with its jobs.")
@click.argument("identity", metavar="ID")
@click.option("--yes", is_flag=True, help="Delete without asking.")
@click.option("--force", is_flag=True, help="Do it even if jobs of its trials may still be running.")
@as_json
@reports_errors
def delete(identity: str, yes: bool, force: bool, as_json: bool) -> None:
    """Remove a sweep that has ended, and the jobs of its trials with their folders and checkpoints."""
    target = find(identity)
    those = counted(sum(len(trial.jobs) for trial in target.snapshot().trials), "job")
    question = f"Delete {target.name} ({target.id}) and the {those} of its trials, with all checkpoints?"
    confirm(question, yes=yes, as_json=as_json)
    target.delete(force=force)
    if as_json:
        print_json({"id": target.id, "name": target.name, "state": "deleted"})
    else:
        console.print(f"{target.name} ({target.id}) is deleted, with the jobs of its trials.")


def _show_plan(plan: SweepPlan, as_json: bool) -> None:
    if as_json:
        print_json(plan)
        return
    for finding in plan.findings:
        console.print(finding_line(finding), markup=False)
    if plan.size is not None and not problems(plan.findings):
        each = f"{plan.size.nodes} × {rank_names.count(plan.size.ranks_per_node)}"
        at_once = "" if plan.parallel is None else f", {plan.parallel} at once"
        console.print(f"{counted(plan.total, 'trial')} of {each}{at_once}")
    if not problems(plan.findings):
        console.print("The sweep can start.")
