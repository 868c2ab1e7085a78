"""How the terminal shows things: `--json`, tables, errors, exit codes.

Exit codes: 0 done; 1 it failed on the way; 2 the request makes no sense; 3 there is no such thing;
4 in conflict with what runs; 5 the environment is not fit.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import click
import msgspec
from rich.console import Console

from dtrain_lab.errors import BadRequest, Conflict, DtrainError, EnvironmentUnfit, NotFound

P = ParamSpec("P")
R = TypeVar("R")

console = Console(highlight=False, soft_wrap=True)
as_json = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON: one object, or an array for lists."
)

EXIT_CODES: tuple[tuple[type[DtrainError], int], ...] = (
    (BadRequest, 2),
    (NotFound, 3),
    (Conflict, 4),
    (EnvironmentUnfit, 5),
)


def print_json(value: Any) -> None:
    """Print a value of ours as JSON."""
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def exit_code(error: DtrainError) -> int:
    """The exit code of an error."""
    return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), 1)


def reports_errors(command: Callable[P, R]) -> Callable[P, R]:
    """An error of ours becomes one line on stderr with its hint, and an exit code."""

    @functools.wraps(command)
    def reporting(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except DtrainError as error:
            click.echo(f"dtrain-lab: {error}", err=True)
            sys.exit(exit_code(error))

    return reporting
