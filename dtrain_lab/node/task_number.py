"""The number of a scheduler's task, where one command starts all tasks: it names the variable that has it."""

from __future__ import annotations

import os
from collections.abc import Mapping


def of(argument: str, variables: Mapping[str, str] = os.environ) -> int:
    """Return the number that an argument of the command line gives.

    Args:
        argument: The number, or the name of the variable that has it.
        variables: The environment.

    Raises:
        KeyError: There is no such variable.
    """
    return int(argument) if argument.isdecimal() else int(variables[argument])
