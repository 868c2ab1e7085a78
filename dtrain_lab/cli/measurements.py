"""`dtrain-lab cluster history|advise|diagnose`: measurements of training on a cluster."""

from __future__ import annotations

import time

import click
import msgspec

from dtrain_lab.api.measurements import check_advise
from dtrain_lab.cli.base.show import as_json, in_terminal, print_json, reports_errors
from dtrain_lab.cli.base.tables import print_table
from dtrain_lab.cli.cluster import done, reach
from dtrain_lab.metrics.advice import text as advice_text
from dtrain_lab.text.units import least_share

HISTORY_ROWS = 40


@click.command()
@click.argument("name")
@click.option("--to", "path", help="A .csv or .json file, or a folder for a TensorBoard event file.")
@as_json
@reports_errors
def history(name: str, path: str | None, as_json: bool) -> None:
    """Print a cluster's metric history, or write it to a file."""
    target = reach(name)
    if path is not None:
        file = target.export(path)
        done(target, f"Written to {file}.", as_json)
        return
    points = target.history()
    if as_json:
        print_json(points)
        return
    if not points:
        click.echo(f"{name} has measured no training yet.")
        return
    rows = []
    for point in points[-HISTORY_ROWS:]:
        at = time.strftime("%H:%M:%S", time.localtime(point["at"]))
        rate, step_s, share = (point.get(k) for k in ("samples_per_s", "step_s", "comm_overhead"))
        rows.append(
            (
                at,
                "–" if point.get("step") is None else f"{point['step']:,}",
                "–" if rate is None else f"{rate:,.0f}",
                "–" if step_s is None else f"{step_s * 1e3:.1f} ms",
                least_share(share, "", point.get("comm_overhead_error")),
            )
        )
    names = ("time", "step", "samples/s", "step time", "communication")
    print_table(names, rows, right=names[1:])


@click.command(short_help="Say what would make training faster, and by how much.")
@click.argument("name")
@click.option("--try", "tried", metavar="ID", help="Measure what this advice gains; its steps are undone.")
@click.option("--nodes", type=int, metavar="M", help="Predict throughput on M nodes.")
@click.option("--ranks-per-node", type=int, metavar="K", help="Default: as many as now.")
@click.option("--profile", metavar="P", help="Profile whose network was measured; default: the cluster's.")
@as_json
@reports_errors
def advise(
    name: str,
    tried: str | None,
    nodes: int | None,
    ranks_per_node: int | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Say what would make training faster, and by how much; nothing is changed."""
    check_advise(tried, nodes, ranks_per_node, profile)
    target = reach(name)
    if tried is not None or nodes is not None:
        measured = (
            target.try_advice(tried)
            if tried is not None
            else target.forecast(nodes or 0, ranks_per_node, profile)
        )
        if as_json:
            print_json(measured)
        else:
            click.echo(in_terminal(measured["text"], name))
        return
    advice = target.advise()
    if as_json:
        print_json(advice)
        return
    for line in advice_text.lines(advice, target.snapshot(), terminal=True):
        click.echo(line)


@click.command(short_help="Measure what takes a training step's time.")
@click.argument("name")
@as_json
@reports_errors
def diagnose(name: str, as_json: bool) -> None:
    """Measure what takes a training step's time: communication, or waiting for data."""
    diagnosis = reach(name).diagnose()
    if as_json:
        print_json(msgspec.to_builtins(diagnosis))
        return
    click.echo(in_terminal(diagnosis.text, name))
    for check in (diagnosis.communication, diagnosis.data):
        if check is not None:
            click.echo(in_terminal(check.text, name))
    for note in diagnosis.notes:
        click.echo(in_terminal(note, name))
