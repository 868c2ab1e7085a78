"""`dtrain-lab sweep …`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from dtrain_lab.api.portal import Portal
from dtrain_lab.api.sweep import STOP_WITHIN_S, Sweep, find, sweeps
from dtrain_lab.cli.group import Group
from dtrain_lab.cli.show import about, as_json, confirm, console, end_dry_run, print_json, reports_errors
from dtrain_lab.cli.submit import print_findings
from dtrain_lab.cli.tables import print_table
from dtrain_lab.errors import Unreachable
from dtrain_lab.jobs.command_line_values import once
from dtrain_lab.sweeps.importance import sentence
from dtrain_lab.sweeps.space import from_text
from dtrain_lab.text.state_words import word
from dtrain_lab.text.units import counted, duration
from dtrain_lab.wire.jobs.finding import line as finding_line
from dtrain_lab.wire.jobs.finding import problems
from dtrain_lab.wire.sweeps import NODES, RANKS_PER_NODE, SWEEP_ENDED, SweepPlan, SweepRequest, Trial
from dtrain_lab.wire.sweeps import Sweep as SweepInfo

VARIES = 'name=value, name=2,4,8 or "name=loguniform(1e-5, 1e-1)"; may be repeated.'


DIRECTIONS = click.Choice(["minimize", "maximize"])
SAMPLERS = click.Choice(["tpe", "random", "grid"])


@click.group("sweep", cls=Group)
def sweep_group() -> None:
    """Sweeps: vary a notebook's parameters over many jobs."""


NOT_SAID = (("nodes", None), ("ranks_per_node", None))
"""Options that were not given; in a request null is the profile's size, so that they are left out."""


@sweep_group.command("run")
@click.argument("notebook")
@click.option("--param", "params", multiple=True, help=VARIES)
@click.option("--objective", required=True, help="Name of a value that the notebook passes to dt.log.")
@click.option("--direction", type=DIRECTIONS, default="minimize", help="What is best for the objective.")
@click.option("--sampler", type=SAMPLERS, default="tpe", help="How values are chosen.")
@click.option("--pruner", type=click.Choice(["asha"]), help="Stop bad trials early.")
@click.option("--trials", type=int, help="Maximum number of trials; default: the whole grid, else 16.")
@click.option("--parallel", type=int, help="Number of trials to run at once; default: one per GPU or core.")
@click.option("--profile", default="local", help="Where to run.")
@click.option("--nodes", type=int, help=f"Nodes of a trial; default: {NODES}.")
@click.option("--ranks-per-node", type=int, help=f"Ranks on each node; default: {RANKS_PER_NODE}.")
@click.option("--name", help="Name of the sweep.")
@click.option("--partition", help="Slurm partition; overrides the profile.")
@click.option("--environment", help='"current" or kind:path; overrides the profile.')
@click.option("--option", "options", multiple=True, help="Extra option for the scheduler; may be repeated.")
@click.option("--time", "limit", help='Time limit of a trial, "02:00:00".')
@click.option("--stage", multiple=True, help="Data to copy to each node's local disk; may be repeated.")
@click.option("--launcher", type=click.Choice(["srun", "torchrun"]), help="Slurm's launcher.")
@click.option("--framework", help="torch, tensorflow or mindspore; overrides the profile.")
@click.option("--retries", type=int, default=0, help="Retries of a failed trial.")
@click.option("--kernel", help="Use this kernel's Python instead of the terminal's.")
@click.option("--files/--no-files", default=True, help="Copy the small files in the notebook's folder.")
@click.option("--dry-run", is_flag=True, help="Check the sweep without starting it.")
@as_json
@reports_errors
def run(
    notebook: str,
    params: tuple[str, ...],
    objective: str,
    kernel: str | None,
    limit: str | None,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Start a sweep over a notebook. It keeps running when this terminal closes."""
    portal = Portal.get("terminal")
    given = [from_text(text) for text in params]
    once(name for name, _, _ in given)
    request = SweepRequest(
        notebook=notebook,
        space={name: value for name, value, varies in given if varies},
        parameters={name: value for name, value, varies in given if not varies},
        objective=objective,
        kernel=kernel,
        python=sys.executable if kernel is None else None,
        time=limit,
        **{field: value for field, value in options.items() if (field, value) not in NOT_SAID},
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
    console.print(f"{info.name} is sweep {info.id}: {_trials(info.total)}, {info.parallel} at once.")
    console.print(f"Its state: dtrain-lab sweep show {info.id}")


@sweep_group.command("list")
@as_json
@reports_errors
def listing(as_json: bool) -> None:
    """List sweeps, newest first."""
    infos = [one.last_info for one in sweeps()]
    portal = Portal.get("terminal")
    for one in portal.call(portal.sweeps.unreadable()):
        called = f"{one.name} ({one.id})" if one.name else one.id
        click.echo(f"{called} can't be shown: {one.message} {one.hint}", err=True)
    if as_json:
        print_json(infos)
    elif not infos:
        console.print("No sweeps. Start one: dtrain-lab sweep run NOTEBOOK")
    else:
        rows = [(info.id, info.name, word(info.state), info.profile, info.summary.text) for info in infos]
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
        console.print(f"Best: {_parameters(info.best)}; job {info.best.job}")
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
    rows = []
    for trial in _best_first(info):
        value = "–" if trial.value is None else f"{trial.value:.6g}"
        step = "–" if trial.step is None else str(trial.step)
        took = "–" if trial.ran_s is None else duration(trial.ran_s)
        row = (str(trial.number), word(trial.state), _parameters(trial), value, step, took, trial.job or "–")
        rows.append((*row, trial.reason.text if trial.reason is not None else ""))
    print_table(("trial", "state", "parameters", info.objective, "step", "time", "job", ""), rows)


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
    _done(target, as_json, already=over)


@sweep_group.command()
@click.argument("identity", metavar="ID")
@as_json
@reports_errors
def resume(identity: str, as_json: bool) -> None:
    """Resume a stopped sweep from its trials' checkpoints."""
    target = find(identity)
    target.resume()
    _done(target, as_json)


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


def _show_plan(made: SweepPlan, as_json: bool) -> None:
    if as_json:
        print_json(made)
        return
    for finding in made.findings:
        console.print(finding_line(finding), markup=False)
    if made.size is not None and not problems(made.findings):
        each = f"{made.size.nodes} × {made.size.ranks_per_node} rank{'s' * (made.size.ranks_per_node != 1)}"
        at_once = "" if made.parallel is None else f", {made.parallel} at once"
        console.print(f"{_trials(made.total)} of {each}{at_once}")
    if not problems(made.findings):
        console.print("The sweep can start.")


def _trials(count: int) -> str:
    return f"{count} trial{'s' if count != 1 else ''}"


def _best_first(info: SweepInfo) -> list[Trial]:
    sign = 1 if info.direction == "minimize" else -1
    return sorted(
        info.trials,
        key=lambda t: (t.state != "succeeded", t.value is None, sign * (t.value or 0.0), t.number),
    )


def _parameters(trial: Trial) -> str:
    shown = {n: f"{v:.4g}" if isinstance(v, float) else str(v) for n, v in trial.parameters.items()}
    return ", ".join(f"{name} {value}" for name, value in shown.items())


def _done(target: Sweep, as_json: bool, *, already: bool = False) -> None:
    info = target.snapshot()
    if as_json:
        print_json(info)
    else:
        console.print(about(info, already=already))
