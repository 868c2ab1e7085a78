"""`dtrain-lab cluster …`."""

from __future__ import annotations

import os
import sys
import time
from contextlib import nullcontext

import click
import psutil

from dtrain_lab.api.cluster import Cluster
from dtrain_lab.api.portal import Portal
from dtrain_lab.cli.base.group import Group
from dtrain_lab.cli.base.show import (
    all_threads,
    as_json,
    console,
    in_terminal,
    print_json,
    print_stacks,
    reports_errors,
)
from dtrain_lab.cli.base.tables import print_table
from dtrain_lab.metrics.advice import text as advice_text
from dtrain_lab.metrics.other_waits import part_share
from dtrain_lab.metrics.outdated import as_of_now, last_text
from dtrain_lab.text import rank_names
from dtrain_lab.text.state_words import word
from dtrain_lab.text.units import least_share
from dtrain_lab.wire.cluster import Cluster as ClusterInfo
from dtrain_lab.wire.plan import Request
from dtrain_lab.world.summary import interrupted


@click.group(cls=Group)
def cluster() -> None:
    """Start, show and stop clusters."""


@cluster.command()
@click.option("--profile", default="local", help="Where to run.")
@click.option("--ranks", type=int, help="Number of ranks; default: one per GPU, else 2.")
@click.option("--nodes", type=int, help="Number of nodes, instead of --ranks.")
@click.option("--ranks-per-node", type=int, help="Ranks on each node.")
@click.option("--name", help="Name of the cluster; default: made from profile and size.")
@click.option("--no-monitor", is_flag=True, help="Don't measure steps and communication.")
@click.option(
    "--detach", is_flag=True, help="Keep the cluster when this terminal closes, until it is stopped."
)
@as_json
@reports_errors
def start(
    profile: str,
    ranks: int | None,
    nodes: int | None,
    ranks_per_node: int | None,
    name: str | None,
    no_monitor: bool,
    detach: bool,
    as_json: bool,
) -> None:
    """Start a cluster and wait until it is ready. It ends when this terminal does, unless detached."""
    portal = Portal.get(pid=_terminal())
    request = Request(
        profile, ranks, nodes, ranks_per_node, name, False if no_monitor else None, python=sys.executable
    )
    began = time.monotonic()
    with nullcontext() if as_json else console.status("Starting …"):
        _, info = portal.call(portal.worlds.start(request, hold=not detach))
    if as_json:
        print_json(info)
    else:
        console.print(
            f"{info.name} is ready: {rank_names.count(info.world.size)}, in {time.monotonic() - began:.1f} s."
        )


@cluster.command("list")
@as_json
@reports_errors
def listing(as_json: bool) -> None:
    """List running clusters."""
    worlds = Portal.get(pid=_terminal()).worlds
    there = worlds.running()
    infos = Portal.get().call(worlds.clusters())
    silent = {r.id for r in worlds.running()}.difference(info.id for info in infos)
    for record in there:
        if record.id in silent:
            click.echo(f"{record.name} does not answer. Its log is in {record.directory}", err=True)
    if as_json:
        print_json(infos)
    elif not infos:
        console.print("No cluster is running. Start one: dtrain-lab cluster start")
    else:
        rows = [
            (i.name, i.profile, str(i.world.size), word(i.state), in_terminal(i.summary.text, i.name))
            for i in infos
        ]
        print_table(("name", "profile", "ranks", "state", ""), rows, right=("ranks",))


@cluster.command()
@click.argument("name")
@as_json
@reports_errors
def show(name: str, as_json: bool) -> None:
    """Show a cluster with its ranks."""
    info = reach(name).snapshot()
    if as_json:
        print_json(info)
    else:
        console.print(f"{info.name}: {in_terminal(info.summary.text, name)}")
        if info.reason is not None:
            console.print(in_terminal(f"{info.reason.message} {info.reason.hint}", name))
        if batch := advice_text.batch(info.metrics, info.world.size):
            console.print(f"{batch[0].upper()}{batch[1:]}.")
        if last := last_text(info.metrics):
            console.print(last)
        _print_ranks(as_of_now(info))


@cluster.command()
@click.argument("name")
@click.option("--ranks", default="", help='Rank set, such as "0,2-3"; default: all.')
@as_json
@reports_errors
def interrupt(name: str, ranks: str, as_json: bool) -> None:
    """Interrupt the running cell; variables are kept."""
    target = reach(name)
    before = target.snapshot()
    target.interrupt(ranks or None)
    done(target, interrupted(before, ranks), as_json)


@cluster.command()
@click.argument("name")
@click.option("--ranks", default="", help='Rank set, such as "0,2-3"; default: all.')
@click.option("--from", "source", type=int, metavar="R", help="Copy variables from rank R.")
@as_json
@reports_errors
def restart(name: str, ranks: str, source: int | None, as_json: bool) -> None:
    """Restart ranks in new processes; their variables are lost."""
    target = reach(name)
    said = target.restart(ranks or None, source)
    if source is None:
        said = "restarted; the variables of those ranks are gone."
    done(target, f"{name}: {said}", as_json)


@cluster.command()
@click.argument("name")
@click.option("--ranks", default="", help='Rank set, such as "0,2-3"; default: all.')
@all_threads
@as_json
@reports_errors
def stacks(name: str, ranks: str, all_threads: bool, as_json: bool) -> None:
    """Show the calls that the ranks are in; equal stacks once."""
    print_stacks(reach(name).stacks(ranks or None), all_threads=all_threads, as_json=as_json)


@cluster.command()
@click.argument("name")
@as_json
@reports_errors
def stop(name: str, as_json: bool) -> None:
    """Stop a cluster: its ranks end, and their variables are lost."""
    target = reach(name)
    target.stop()
    if as_json:
        print_json({"id": target.id, "name": target.name, "state": "stopped"})
    else:
        console.print(f"{target.name} is stopped.")


def _terminal() -> int:
    """Return the pid of the process whose end means that the user has left: the shell, not this command."""
    leader = os.getsid(0)
    if leader in (0, os.getpid()) or not psutil.pid_exists(leader):
        return os.getppid()
    return leader


def reach(name: str) -> Cluster:
    """Return a cluster without taking a lease, so that this command neither keeps it alive nor stops it."""
    portal = Portal.get(pid=_terminal())

    async def reach() -> Cluster:
        return Cluster(portal, await portal.worlds.connect(name))

    return portal.call(reach())


def done(target: Cluster, text: str, as_json: bool) -> None:
    """Print that an action is done, or the cluster as JSON.

    Args:
        target: The cluster.
        text: The sentence to print.
        as_json: Print the cluster instead, as it is now.
    """
    if as_json:
        print_json(target.snapshot())
    else:
        console.print(text)


def _print_ranks(info: ClusterInfo) -> None:
    waits = ("other waits",) if any(rank.asleep_s for rank in info.ranks) else ()
    names = (
        "rank", "node", "device", "state", "doing", "step", "samples/s", "communication", *waits, "memory GiB"
    )  # fmt: skip
    rows = [
        (
            str(rank.rank),
            rank.node,
            rank.device,
            word(rank.state),
            rank.doing or "–",
            "–" if rank.step is None else f"{rank.step:,}",
            "–" if rank.samples_per_s is None else f"{rank.samples_per_s:,.1f}",
            least_share(rank.comm_overhead, rank.comm_bound, rank.comm_overhead_error),
            *((least_share(part_share(rank), ""),) if waits else ()),
            "–" if rank.memory_bytes is None else f"{rank.memory_bytes / 2**30:.1f}",
        )
        for rank in info.ranks
    ]
    print_table(names, rows, right=("rank", *names[5:]))
