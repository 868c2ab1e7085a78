"""How Python is started in a profile's environment: as words and lines of a shell, nothing run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

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


def lines(environment: Environment, variables: Mapping[str, str]) -> list[str]:
    """Lines of a shell before Python is started: the profile's own `setup`, then variables, quoted.

    Raises:
        BadProfile: a variable's name is none.
    """
    for name in variables:
        if not VARIABLE.fullmatch(name):
            raise BadProfile(
                f'[environment] variables: "{name}" can\'t be the name of a variable.',
                "Use letters, digits and underscores.",
                code="bad_variable",
            )
    exports = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    return [*environment.setup, *exports]


def script(environment: Environment, variables: Mapping[str, str], words: Sequence[str]) -> str:
    """A command with what has to come before it, for `bash -c`."""
    return "\n".join([*lines(environment, variables), f"exec {shlex.join(words)}"])


def login_needed(environment: Environment) -> bool:
    """Modules and conda are functions of a login shell."""
    return environment.kind in ("modules", "conda") or bool(environment.setup)
