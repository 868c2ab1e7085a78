"""Output of the terminal commands: `--json`, tables, errors, exit codes.

Exit codes: 0 success; 1 failure; 2 invalid request; 3 not found; 4 conflict with a running cluster or job;
5 unfit environment.
"""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import click
import msgspec
from rich.console import Console

from dtrain_lab.errors import (
    BadRequest,
    Conflict,
    DtrainError,
    EnvironmentUnfit,
    NotFound,
    of_disk,
)
from dtrain_lab.wire.jobs.finding import Finding, problems
from dtrain_lab.wire.jobs.finding import line as finding_line
from dtrain_lab.wire.jobs.job import Job
from dtrain_lab.wire.sweeps import Sweep

P = ParamSpec("P")
R = TypeVar("R")

# printed text comes from users and their programs: brackets in it are not markup
console = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
as_json = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON: one object, or an array for lists."
)

EXIT_CODES: tuple[tuple[type[DtrainError], int], ...] = (
    (BadRequest, 2),
    (NotFound, 3),
    (Conflict, 4),
    (EnvironmentUnfit, 5),
)

MAGIC = re.compile(
    r"%distributed (start|attach|status|restart|interrupt|stop|resize|stacks|diagnose|advise)\b"
    r"(?: ((?<=attach )[\w-]+|\d+(?:[,-]\d+)*|N\b))?"
)
"""Notebook commands in messages; terminals and notebooks receive the same messages."""

WOULD_BE_REFUSED = 2
"""Exit code of a dry run that finds problems: the same as for an invalid request."""


def print_json(value: Any) -> None:
    """Print a value as JSON for programs: in UTF-8, whatever the terminal's encoding."""
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))


def print_line(value: Any) -> None:
    """Print a value as one line of JSON, and flush: more lines will follow."""
    click.echo(msgspec.json.encode(value))
    sys.stdout.flush()


all_threads = click.option(
    "--all", "all_threads", is_flag=True, help="All threads, with the frames of libraries; as in --json."
)


def print_stacks(stacks: dict[int, str], *, all_threads: bool, as_json: bool) -> None:
    """Print the stacks of ranks.

    Args:
        stacks: As `Cluster.stacks` and `Job.stacks` return them.
        all_threads: Print those of all threads, not only where the ranks are in the user's code.
        as_json: Print JSON, which has all threads.
    """
    if as_json:
        print_json([{"rank": rank, "text": text} for rank, text in stacks.items()])
        return
    if not all_threads:
        click.echo(stacks)
        return
    for rank, text in stacks.items():
        console.rule(f"rank {rank}", align="left")
        click.echo(text)


def confirm(question: str, *, yes: bool, as_json: bool) -> None:
    """Ask for confirmation before an irreversible action.

    Args:
        question: The question.
        yes: Whether the action was confirmed on the command line.
        as_json: Whether a program reads the output, which can't answer questions.

    Raises:
        BadRequest: There is no user to ask.
        click.Abort: The answer is no.
    """
    if yes:
        return
    if as_json or sys.stdin is None or not sys.stdin.isatty():  # None if closed, as in a service
        raise BadRequest(
            f"{question} There is no terminal to answer at.", "Repeat it with --yes.", code="not_confirmed"
        )
    click.confirm(question, abort=True, err=True)


def about(info: Job | Sweep, *, already: bool = False) -> str:
    """Return a job's or sweep's state in a sentence, with its name and id.

    Args:
        info: The job or sweep.
        already: Whether it had ended before a command that ends it.
    """
    ended = " has already ended" if already else ""
    return f"{info.name} ({info.id}){ended}: {info.summary.text}"


def print_about(info: Job | Sweep, *, as_json: bool, already: bool = False) -> None:
    """Print a job or sweep that a command has changed.

    Args:
        info: The job or sweep.
        as_json: Print JSON instead of a sentence.
        already: Whether it had ended before a command that ends it.
    """
    if as_json:
        print_json(info)
    else:
        console.print(about(info, already=already))


def in_terminal(hint: str, name: object = None) -> str:
    """Return a text with this terminal's commands in place of a notebook's.

    Args:
        hint: The hint of an error, or another text.
        name: Name of the cluster that the command was about, if it was about one.
    """

    def command(match: re.Match[str]) -> str:
        verb, rest = match.groups()
        match verb:
            case "start":
                words = ["start"]
            case "attach" | "status":
                words = ["show", rest or str(name or "NAME")]
            case "resize":  # a notebook's own
                words = ["start --ranks", rest or "N"]
            case _:
                words = [verb, str(name or "NAME"), *(("--ranks", rest) if rest else ())]
        return " ".join(["dtrain-lab cluster", *words])

    return MAGIC.sub(command, hint)


def sentence(error: Exception) -> str:
    """Return an error as a sentence, with this terminal's commands."""
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename} can't be used: {error.strerror}."
    return in_terminal(str(error))


def exit_code(error: DtrainError) -> int:
    """Return the exit code of an error."""
    return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), 1)


def print_findings(findings: tuple[Finding, ...]) -> None:
    """Print what a check found, on stderr."""
    for finding in findings:
        click.echo(finding_line(finding), err=True)


def end_dry_run(findings: tuple[Finding, ...]) -> None:
    """Exit with the code of a refused command if the check found a problem."""
    if problems(findings):
        sys.exit(WOULD_BE_REFUSED)


def reports_errors(command: Callable[P, R]) -> Callable[P, R]:
    """Decorate a command to print an error on stderr, a line for each problem, and exit with its code.

    Errors are `DtrainError`, and those of a disk that is full, read-only or gone; others keep their
    traceback. With `--json` the line is the error as REST reports it.
    """

    @functools.wraps(command)
    def reporting(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except (DtrainError, OSError) as raised:
            error = raised if isinstance(raised, DtrainError) else of_disk(raised)
            if error is None:
                raise
            about = kwargs.get("name")
            error.message, error.hint = in_terminal(error.message, about), in_terminal(error.hint, about)
            text = in_terminal(f"dtrain-lab: {error}", about)  # further problems may name commands, too
            click.echo(json.dumps(error.as_dict()) if kwargs.get("as_json") else text, err=True)
            sys.exit(exit_code(error))

    return reporting
