"""How Python is started in a profile's environment: as words and lines of a shell, nothing run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence

from dtrain_lab.core.profile import Environment
from dtrain_lab.errors import BadProfile

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def python(environment: Environment, current: str) -> list[str]:
    """The words that start Python.

    Args:
        environment: of the profile.
        current: interpreter of the kernel or terminal, for the kind "current".

    Raises:
        BadProfile: the kind needs a path and has none.
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
            f'[environment] kind = "{environment.kind}" has no path.', f"Set path to {needs}.", code="no_path"
        )
    if environment.kind in ("venv", "conda"):
        return [f"{path.rstrip('/')}/bin/python"]
    if environment.kind == "apptainer":
        return ["apptainer", "exec", "--nv", path, "python3"]
    return [*shlex.split(path), "python3"]


def _say_unread(name: str, path: str) -> list[str]:
    """A shell says that the file of a secret can't be read here."""
    return [f'echo {shlex.quote(no_secret(name, path, ""))}"$(hostname)." >&2', "exit 1"]


def lines(
    environment: Environment,
    variables: Mapping[str, str],
    unread: Callable[[str, str], list[str]] = _say_unread,
) -> list[str]:
    """Lines of a shell before Python is started: the profile's own `setup`, then variables, quoted.

    A secret is read where the lines run; what is written down here is its path.

    Args:
        environment: of the profile.
        variables: to be exported.
        unread: from a secret's name and path, what the shell does where that can't be read.

    Raises:
        BadProfile: a variable's name is none.
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
    """What is said where the file of a secret can't be read."""
    return f"[environment] secrets: {name} is not there, as {path} can't be read on {where}"


def _place(path: str) -> str:
    return f'"$HOME"/{shlex.quote(path[2:])}' if path.startswith("~/") else shlex.quote(path)


def script(environment: Environment, variables: Mapping[str, str], words: Sequence[str]) -> str:
    """A command with what has to come before it, for `bash -c`."""
    return "\n".join([*lines(environment, variables), f"exec {shlex.join(words)}"])


def login_needed(environment: Environment) -> bool:
    """Modules and conda are functions of a login shell."""
    return environment.kind in ("modules", "conda") or bool(environment.setup)
