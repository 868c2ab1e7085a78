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
        raise BadRequest(f"{self.prog}: {message}.", self.format_usage().strip())


def cell_parser() -> argparse.ArgumentParser:
    """`%%distributed [RANKS] [--cluster NAME] [--no-wait] [--timeout S] [--by-rank]`."""
    parser = _Parser(prog="%%distributed", add_help=False)
    parser.add_argument("ranks", nargs="?", default="")
    parser.add_argument("--cluster", metavar="NAME")
    parser.add_argument("--timeout", type=float, metavar="S")
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
    for name in ("interrupt", "restart", "stacks"):
        commands.add_parser(name, add_help=False).add_argument("ranks", nargs="?", default="")
    commands.add_parser("where", add_help=False)
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
