"""The parser of `%distributed COMMAND …`; that of `%%distributed` is `cells.cell_options`."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from contextlib import contextmanager

from dtrain_lab.cells.cell_options import CELL, LINE, Parser, cell_parser
from dtrain_lab.errors import NotFound


def line_parser() -> Parser:
    """Return the parser of `%distributed COMMAND …`."""
    parser = Parser(prog=LINE)
    start = parser.command("start", "Start a cluster; by default on this machine.")
    start.add_argument("profile", nargs="?", default="local", metavar="PROFILE", help="default: local")
    start.add_argument("--ranks", type=int, metavar="N", help="default: one per GPU, else 2")
    start.add_argument("--nodes", type=int, metavar="M", help="number of nodes, instead of --ranks")
    start.add_argument("--ranks-per-node", type=int, metavar="K", help="ranks on each node")
    start.add_argument("--name", metavar="NAME", help="default: made from profile and size")
    start.add_argument("--no-monitor", action="store_true", help="don't measure steps and communication")
    parser.command("stop", "Stop this notebook's cluster.").own_cluster = True
    parser.command("status", "Show the state of the cluster and its ranks.").own_cluster = True
    attach = parser.command("attach", "Use a cluster that is running.")
    attach.add_argument("name", nargs="?", metavar="NAME", help="default: list the clusters that run")
    _ranks(parser.command("interrupt", "Interrupt the running cell; variables are kept."))
    restart = parser.command("restart", "Restart ranks in new processes; their variables are lost.")
    _ranks(restart)
    restart.add_argument("--from", type=int, metavar="R", dest="source", help="copy variables from rank R")
    resize = parser.command("resize", "Change the number of ranks to N.")
    resize.add_argument("size", type=int, metavar="N")
    stacks = parser.command("stacks", "Show the calls that the ranks are in; equal stacks once.")
    _ranks(stacks)
    stacks.add_argument("--all", action="store_true", help="all threads, with the frames of libraries")
    parser.command("where", "Show the line that each rank is running.").own_cluster = True
    advise = parser.command("advise", "Show what would make training faster.")
    advise.add_argument("--nodes", type=int, metavar="M", help="predict throughput on M nodes")
    advise.add_argument("--ranks-per-node", type=int, metavar="K", help="default: as many as now")
    advise.add_argument("--profile", metavar="P", help="profile whose network was measured by profile check")
    advise.add_argument("--try", metavar="ID", dest="tried", help="measure what this advice gains")
    parser.command("diagnose", "Measure what takes a step's time.").own_cluster = True
    parser.command("wait", f"Wait for a cell started with {CELL} --no-wait, and show its output.")
    parser.command("output", "Show the output of that cell so far.")
    push = parser.command("push", "Copy variables of this notebook to all ranks.")
    push.add_argument("variables", nargs="+", metavar="VAR")
    pull = parser.command("pull", "Copy a variable of ranks to this notebook.")
    pull.add_argument("variable", metavar="VAR")
    _ranks(pull)
    diff = parser.command("diff", "Compare a variable over ranks.")
    diff.add_argument("variable", metavar="VAR")
    _ranks(diff)
    return parser


@contextmanager
def name_meant(options: argparse.Namespace, line: str) -> Iterator[None]:
    """Where a profile is missing, say how to give a cluster that name: it may have been meant.

    Args:
        options: The parsed options of `start`.
        line: The line of the magic.

    Raises:
        NotFound: There is no such profile, or whatever else is missing.
    """
    try:
        yield
    except NotFound as error:
        if error.details.get("profile") == options.profile and options.name is None:
            words = shlex.split(line, comments=True)
            at = words.index(options.profile, 1)
            meant = shlex.join([*words[:at], "--name", *words[at:]])
            error.hint = f'To name the cluster "{options.profile}", write {LINE} {meant}. {error.hint}'
        raise


def _ranks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ranks", nargs="?", default="", metavar="RANKS", help="0 or 0,2-3; default: all")


def help_text() -> str:
    """Return the help of both magics."""
    return f"{cell_parser().text()}\n{line_parser().text()}"
