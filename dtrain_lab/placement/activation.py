"""Shell commands that start Python in a profile's environment. Pure: only text is built."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence

from dtrain_lab.errors import BadProfile
from dtrain_lab.wire.profile import Environment

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def python(environment: Environment, current: str) -> list[str]:
    """Return the program and arguments that start Python in an environment.

    Args:
        environment: the profile's environment.
        current: interpreter of the kernel or terminal, for the kind "current".

    Raises:
        BadProfile: the kind needs a path and has none, or the path can't be parsed as a command.
    """
    path = environment.path
    if environment.kind == "current":
        return [current]
    if environment.kind == "modules":
        return [path or "python3"]
    if not path:
        needs = {
            "venv": "the folder of the venv",
            "conda": "the folder of the environment",
            "apptainer": "the image",
            "command": "the command that Python is started through",
        }[environment.kind]
        raise BadProfile(
            f'[environment] kind = "{environment.kind}" has no path.',
            f"Set [environment] path to {needs}.",
            code="no_path",
        )
    if environment.kind in ("venv", "conda"):
        return [f"{path.rstrip('/')}/bin/python"]
    if environment.kind == "apptainer":
        return ["apptainer", "exec", "--nv", path, "python3"]
    try:
        return [*shlex.split(path), "python3"]
    except ValueError as error:
        raise BadProfile(
            f"[environment] path = {path!r} can't be read as a command: {error}.", "Check its quotes."
        ) from error


def _say_unread(name: str, path: str) -> list[str]:
    """Return shell lines that report an unreadable secret file and exit."""
    return [f'echo {shlex.quote(no_secret(name, path, ""))}"$(hostname)." >&2', "exit 1"]


def lines(
    environment: Environment,
    variables: Mapping[str, str],
    unread: Callable[[str, str], list[str]] = _say_unread,
) -> list[str]:
    """Return the shell lines that run before Python: the profile's `setup`, then quoted exports.

    A secret is read where the lines run; the lines themselves only contain its path.

    Args:
        environment: the profile's environment.
        variables: variables to export.
        unread: returns shell lines for a secret file that can't be read, given the secret's name and path.

    Raises:
        BadProfile: a variable's name is not valid in a shell.
    """
    for key, names in (("variables", variables), ("secrets", environment.secrets)):
        for name in names:
            if not VARIABLE.fullmatch(name):
                raise BadProfile(
                    f'[environment] {key}: "{name}" can\'t be the name of a variable.',
                    "Use letters, digits and underscores.",
                    code="bad_variable",
                )
    exports = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    secrets = [
        line
        for name, path in environment.secrets.items()
        for line in (
            f"{name}=$(cat {_place(path)}) && export {name} || {{",
            *(f"  {told}" for told in unread(name, path)),
            "}",
        )
    ]
    return [*environment.setup, *exports, *secrets]


def no_secret(name: str, path: str, where: str) -> str:
    """Return the error message for a secret file that can't be read.

    Args:
        name: Name of the variable.
        path: Path of the file.
        where: The machine that can't read it, as it follows "on".
    """
    return f"[environment] secrets: {name} is not set, because {path} can't be read on {where}"


def _place(path: str) -> str:
    return f'"$HOME"/{shlex.quote(path[2:])}' if path.startswith("~/") else shlex.quote(path)


def script(environment: Environment, variables: Mapping[str, str], command: Sequence[str]) -> str:
    """Return a script for `bash -c` that prepares the environment and then runs a command.

    Args:
        environment: The profile's section, with activation, modules and secrets.
        variables: Variables set in addition.
        command: Program and arguments.
    """
    return "\n".join([*lines(environment, variables), f"exec {shlex.join(command)}"])


def login_needed(environment: Environment) -> bool:
    """Whether a login shell is needed: it defines the functions of modules and conda."""
    return environment.kind in ("modules", "conda") or bool(environment.setup)
