"""Options of the magics, parsed apart from what they do."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from typing import NoReturn

from dtrain_lab.errors import BadRequest


class _Parser(argparse.ArgumentParser):
    """argparse that raises a sentence in place of leaving the process."""

    def error(self, message: str) -> NoReturn:
        raise BadRequest(f"{self.prog}: {message}.", " ".join(self.format_usage().split()))


def cell_parser() -> argparse.ArgumentParser:
    """`%%distributed [RANKS] [--cluster NAME] [--no-wait] [--timeout S] [--by-rank]`."""
    parser = _Parser(prog="%%distributed", add_help=False)
    parser.add_argument("ranks", nargs="?", default="")
    parser.add_argument("--cluster", metavar="NAME")
    parser.add_argument("--timeout", type=float, metavar="S")
    parser.add_argument("--no-wait", action="store_true")
    parser.add_argument("--by-rank", action="store_true")
    return parser


def line_parser() -> argparse.ArgumentParser:
    """`%distributed COMMAND …`."""
    parser = _Parser(prog="%distributed", add_help=False)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    start = commands.add_parser("start", add_help=False)
    start.add_argument("profile", nargs="?", default="local")
    start.add_argument("--ranks", type=int, metavar="N")
    start.add_argument("--nodes", type=int, metavar="M")
    start.add_argument("--ranks-per-node", type=int, metavar="K")
    start.add_argument("--name")
    start.add_argument("--no-monitor", action="store_true")
    commands.add_parser("stop", add_help=False)
    commands.add_parser("status", add_help=False)
    commands.add_parser("attach", add_help=False).add_argument("name")
    for name in ("interrupt", "stacks"):
        commands.add_parser(name, add_help=False).add_argument("ranks", nargs="?", default="")
    restart = commands.add_parser("restart", add_help=False)
    restart.add_argument("ranks", nargs="?", default="")
    restart.add_argument("--from", type=int, metavar="R", dest="source")
    commands.add_parser("resize", add_help=False).add_argument("size", type=int, metavar="N")
    for name in ("where", "diagnose", "wait", "output"):
        commands.add_parser(name, add_help=False)
    diff = commands.add_parser("diff", add_help=False)
    diff.add_argument("variable")
    diff.add_argument("ranks", nargs="?", default="")
    pull = commands.add_parser("pull", add_help=False)
    pull.add_argument("variable")
    pull.add_argument("ranks", nargs="?", default="")
    commands.add_parser("push", add_help=False).add_argument("variables", nargs="+")
    return parser


def parse(parser: argparse.ArgumentParser, line: str) -> argparse.Namespace:
    """Parse a magic's line.

    Raises:
        BadRequest: an unknown option, a missing value, quotes that don't close.
    """
    try:
        words: Sequence[str] = shlex.split(line, comments=True)
    except ValueError as error:
        raise BadRequest(f"{parser.prog}: {error}.", "Check the quotes.") from error
    return parser.parse_args(words)
