"""`dtrain-lab submit`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from dtrain_lab.api.portal import Portal
from dtrain_lab.cli.base.show import (
    as_json,
    console,
    end_dry_run,
    print_findings,
    print_json,
    reports_errors,
)
from dtrain_lab.cli.jobs.parameters import parameters_of
from dtrain_lab.cli.jobs.request_options import request_of, request_options
from dtrain_lab.jobs.request_options import JOB_OPTIONS
from dtrain_lab.placement import budget, quota
from dtrain_lab.text import rank_names
from dtrain_lab.text.units import counted
from dtrain_lab.wire.jobs.finding import line as finding_line
from dtrain_lab.wire.jobs.job import JobPlan, JobRequest


@click.command()
@click.argument("notebook")
@click.option("--param", "params", multiple=True, help="k=v for the cell tagged parameters; may be repeated.")
@request_options(JobRequest, JOB_OPTIONS)
@click.option("--dry-run", is_flag=True, help="Show the plan without submitting.")
@as_json
@reports_errors
def submit(notebook: str, params: tuple[str, ...], dry_run: bool, as_json: bool, **given: Any) -> None:
    """Submit a notebook as a job. It keeps running when this terminal closes."""
    portal = Portal.get()
    request = request_of(JobRequest, notebook, given, parameters=parameters_of(params))
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


def _show_plan(plan: JobPlan, as_json: bool) -> None:
    if as_json:
        print_json(plan)
        return
    for finding in plan.findings:
        console.print(finding_line(finding), markup=False)
        if finding.diff:
            click.echo(finding.diff)
    if plan.size is not None:
        nodes = counted(plan.size.nodes, "node")
        console.print(f"{nodes} × {rank_names.count(plan.size.ranks_per_node)}: {plan.command}", markup=False)
    if plan.room is not None and (text := quota.sentence(plan.room)):
        console.print(text, markup=False)
    if plan.budget is not None:
        console.print(budget.sentence(plan.budget), markup=False)
    if plan.expected_start_at is not None:
        console.print(f"Expected start: {time.ctime(plan.expected_start_at)}.")
    for file in plan.files:
        console.print(f"  {file.path}  {file.bytes:,} bytes", markup=False)
    for file in plan.files:
        if file.path.endswith(".sh"):
            console.rule(file.path, align="left")
            click.echo(file.text)
