"""`--param name=value`, which `submit` and `script` have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dtrain_lab.errors import BadRequest
from dtrain_lab.jobs.command_line_values import once, typed_value


def parameters_of(texts: Sequence[str]) -> dict[str, Any]:
    """Return parameters by name, with the type that each value reads as.

    Args:
        texts: Each as "name=value".

    Raises:
        BadRequest: One has no "=", or a name is given twice.
    """
    parameters = [_parameter(text) for text in texts]
    once(name for name, _ in parameters)
    return dict(parameters)


def _parameter(text: str) -> tuple[str, Any]:
    name, sep, value = text.partition("=")
    if not sep:
        raise BadRequest(f'--param {text} has no "=".', "Write it as --param name=value.")
    return name.strip(), typed_value(value)
