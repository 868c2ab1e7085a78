"""Terminal command equivalent to a job request."""

from __future__ import annotations

import json
import shlex
from typing import Any

from dtrain_lab.jobs.command_line_values import typed_value
from dtrain_lab.jobs.request_options import JOB_OPTIONS
from dtrain_lab.wire.jobs.job import JobRequest

WIDTH = 88
"""Maximum characters on one line; a longer command is written with one option per line."""
USUAL = JobRequest("")


def submit_command(request: JobRequest, notebook: str) -> str:
    """Return the `dtrain-lab submit …` command of a request, quoted for a shell.

    What only a browser knows (the names that a kernel defines) is left out.

    Args:
        request: the user's request.
        notebook: absolute path of the notebook, since the terminal's working directory is unknown.
    """
    options = [_option(name, value) for name, value in _given(request)]
    words = ["dtrain-lab submit", shlex.quote(notebook), *options]
    line = " ".join(words)
    return line if len(line) <= WIDTH else " \\\n  ".join([" ".join(words[:2]), *options])


def parameter(name: str, value: Any) -> str:
    """Format a parameter for `--param`: as JSON, or as plain text where that is read as itself.

    Args:
        name: Name of the parameter.
        value: Its value, of a type that JSON has.
    """
    if isinstance(value, str) and typed_value(value) == value:
        return f"{name}={value}"
    return f"{name}={json.dumps(value, ensure_ascii=False)}"


def _given(request: JobRequest) -> list[tuple[str, str | None]]:
    """Return the options that differ from the defaults, with their values; None for a flag."""
    given: list[tuple[str, str | None]] = []
    for option in JOB_OPTIONS:
        value = getattr(request, option.field)
        if value == getattr(USUAL, option.field):
            continue
        if isinstance(value, bool):
            given.append((option.flag if value else f"no-{option.flag}", None))
        elif isinstance(value, tuple):
            given += [(option.flag, one) for one in value]
        else:
            given.append((option.flag, str(value)))
    return given + [("param", parameter(name, value)) for name, value in request.parameters.items()]


def _option(name: str, value: str | None) -> str:
    if value is None:
        return f"--{name}"
    # `--name=value`, because a value that begins with a dash would be parsed as an option
    return shlex.quote(f"--{name}={value}") if value.startswith("-") else f"--{name} {shlex.quote(value)}"
