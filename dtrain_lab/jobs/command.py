"""Terminal command equivalent to a job request."""

from __future__ import annotations

import json
import shlex
from typing import Any

from dtrain_lab.jobs.command_line_values import typed_value
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
    one: list[tuple[str, Any, Any]] = [
        ("profile", request.profile, USUAL.profile),
        ("partition", request.partition, None),
        ("ranks", request.ranks, None),
        ("nodes", request.nodes, None),
        ("ranks-per-node", request.ranks_per_node, None),
        ("time", request.time, None),
        ("launcher", request.launcher, None),
        ("framework", request.framework, None),
        ("name", request.name, None),
        ("kernel", request.kernel, None),
        ("environment", request.environment, None),
        ("retries", request.retries, USUAL.retries),
        ("warn", request.warn_s, USUAL.warn_s),
        ("mail", request.mail, None),
        ("notify", request.notify, None),
        ("after", request.after, None),
        ("interface", request.interface, None),
    ]
    given: list[tuple[str, str | None]] = [(name, str(value)) for name, value, usual in one if value != usual]
    given += [("param", parameter(name, value)) for name, value in request.parameters.items()]
    given += [("stage", path) for path in request.stage]
    given += [("option", option) for option in request.options]
    if not request.files:
        given.append(("no-files", None))
    if request.monitor is not None:
        given.append(("monitor" if request.monitor else "no-monitor", None))
    return given


def _option(name: str, value: str | None) -> str:
    if value is None:
        return f"--{name}"
    # `--name=value`, because a value that begins with a dash would be parsed as an option
    return shlex.quote(f"--{name}={value}") if value.startswith("-") else f"--{name} {shlex.quote(value)}"
