"""`dtrain-lab submit`, `script`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import click

from dtrain_lab.api.portal import Portal
from dtrain_lab.cli.show import (
    as_json,
    console,
    end_dry_run,
    print_json,
    reports_errors,
)
from dtrain_lab.errors import BadRequest, NotFound
from dtrain_lab.jobs.check.parameter_values import whole
from dtrain_lab.jobs.command_line_values import once, typed_value
from dtrain_lab.jobs.notebook.script import convert
from dtrain_lab.jobs.notebook.source import read
from dtrain_lab.placement import budget, quota
from dtrain_lab.placement.frameworks.names import imported
from dtrain_lab.services.plans.blocking_findings import refuse
from dtrain_lab.services.plans.notebook_code import Code
from dtrain_lab.text import rank_names
from dtrain_lab.text.units import counted
from dtrain_lab.wire.jobs.finding import Finding
from dtrain_lab.wire.jobs.finding import line as finding_line
from dtrain_lab.wire.jobs.job import JobPlan, JobRequest


@click.command()
@click.argument("notebook")
@click.option("--profile", default="local", help="Where to run.")
@click.option("--ranks", type=int, help="Number of ranks; the plan chooses the nodes.")
@click.option("--nodes", type=int, help="Number of nodes.")
@click.option("--ranks-per-node", type=int, help="Ranks on each node.")
@click.option("--name", help="Name of the job.")
@click.option("--param", "params", multiple=True, help="k=v for the cell tagged parameters; may be repeated.")
@click.option("--partition", help="Slurm partition; overrides the profile.")
@click.option("--environment", help='"current" or kind:path; overrides the profile.')
@click.option("--interface", help="Network interface; overrides the profile.")
@click.option("--option", "options", multiple=True, help="Extra option for the scheduler; may be repeated.")
@click.option("--time", "limit", help='Time limit, "02:00:00".')
@click.option("--stage", multiple=True, help="Data to copy to each node's local disk; may be repeated.")
@click.option("--launcher", type=click.Choice(["srun", "torchrun"]), help="Slurm's launcher.")
@click.option("--framework", help="torch, tensorflow or mindspore; overrides the profile.")
@click.option("--after", help="Start only after this job has succeeded.")
@click.option("--retries", type=int, default=0, help="Retries of a failed run.")
@click.option("--warn", type=int, default=60, help="Warn ranks this many seconds before the limit.")
@click.option("--mail", help="E-mail address for Slurm's notifications.")
@click.option("--notify", help="Command that the job runs when it ends.")
@click.option("--kernel", help="Use this kernel's Python instead of the terminal's.")
@click.option("--files/--no-files", default=True, help="Copy the small files in the notebook's folder.")
@click.option("--monitor/--no-monitor", default=None, help="Measure steps and communication.")
@click.option("--dry-run", is_flag=True, help="Show the plan without submitting.")
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
    framework: str | None,
    after: str | None,
    retries: int,
    warn: int,
    mail: str | None,
    notify: str | None,
    kernel: str | None,
    files: bool,
    monitor: bool | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Submit a notebook as a job. It keeps running when this terminal closes."""
    portal = Portal.get("terminal")
    request = JobRequest(
        notebook=notebook,
        profile=profile,
        ranks=ranks,
        nodes=nodes,
        ranks_per_node=ranks_per_node,
        name=name,
        parameters=_parameters(params),
        time=limit,
        launcher=launcher,
        framework=framework,
        after=after,
        retries=retries,
        warn_s=warn,
        mail=mail,
        notify=notify,
        files=files,
        monitor=monitor,
        kernel=kernel,
        python=sys.executable if kernel is None else None,
        partition=partition,
        environment=environment,
        interface=interface,
        options=options,
        stage=stage,
    )
    file = Path(notebook).expanduser().absolute()
    if dry_run:
        plan = portal.call(portal.jobs.plan(request, file, ask=True))
        _show_plan(plan, as_json)
        end_dry_run(plan.findings)
        return
    info = portal.call(portal.jobs.submit(request, file, print_findings))
    if as_json:
        print_json(info)
    else:
        console.print(f"{info.name} is job {info.id}: {info.summary.text}")
        console.print(f"Its log: dtrain-lab job logs -f {info.id}")


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
    cells = read(text, str(file))
    code = Code.local_files(cells, file.parent)
    told = imported(code.everywhere)
    made = convert(
        cells,
        title=file.name,
        parameters=whole(cells, _parameters(params)),
        framework=told[0] if told else "torch",
        local_torch_text=code.torch_text,
        makes_group=code.makes_group,
    )
    if as_json:
        print_json({"script": made.text, "findings": made.findings, "installs": made.installs})
        return
    for finding in made.findings:
        click.echo(finding_line(finding), err=True)
    refuse(made.findings)
    click.echo(made.text, nl=False)


def _parameters(texts: tuple[str, ...]) -> dict[str, Any]:
    given = [_parameter(text) for text in texts]
    once(name for name, _ in given)
    return dict(given)


def _parameter(text: str) -> tuple[str, Any]:
    name, sep, value = text.partition("=")
    if not sep:
        raise BadRequest(f'--param {text} has no "=".', "Write it as --param name=value.")
    return name.strip(), typed_value(value)


def print_findings(findings: tuple[Finding, ...]) -> None:
    """Print what a check found, on stderr."""
    for finding in findings:
        click.echo(finding_line(finding), err=True)


def _show_plan(made: JobPlan, as_json: bool) -> None:
    if as_json:
        print_json(made)
        return
    for finding in made.findings:
        console.print(finding_line(finding), markup=False)
        if finding.diff:
            click.echo(finding.diff)
    if made.size is not None:
        nodes = counted(made.size.nodes, "node")
        console.print(f"{nodes} × {rank_names.count(made.size.ranks_per_node)}: {made.command}", markup=False)
    if made.room is not None and (text := quota.sentence(made.room)):
        console.print(text, markup=False)
    if made.budget is not None:
        console.print(budget.sentence(made.budget), markup=False)
    if made.expected_start_at is not None:
        console.print(f"Expected start: {time.ctime(made.expected_start_at)}.")
    for file in made.files:
        console.print(f"  {file.path}  {file.bytes:,} bytes", markup=False)
    for file in made.files:
        if file.path.endswith(".sh"):
            console.rule(file.path, align="left")
            click.echo(file.text)
