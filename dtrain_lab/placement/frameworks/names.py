"""Names of frameworks, as users write them, and the modules by which a notebook's framework is recognized."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import get_args

from dtrain_lab.errors import BadRequest
from dtrain_lab.text import suggestions
from dtrain_lab.wire.kinds import Framework

KNOWN: tuple[Framework, ...] = get_args(Framework)
TITLES: dict[Framework, str] = {"torch": "PyTorch", "tensorflow": "TensorFlow", "mindspore": "MindSpore"}
MODULES: dict[Framework, tuple[str, ...]] = {
    "torch": ("torch", "lightning", "pytorch_lightning", "accelerate", "deepspeed", "torchvision", "ignite"),
    "tensorflow": ("tensorflow", "tf_keras"),
    "mindspore": ("mindspore",),
}


OTHERS: tuple[Framework, ...] = ("tensorflow", "mindspore")


def or_named(there: Iterable[str], command: str) -> str:
    """Return the hint for an environment without torch, which may be meant for another framework.

    Args:
        there: frameworks that it has.
        command: installs torch there.
    """
    framework = next(iter(there), None)
    if framework is None:
        return f"Install it there: {command}"
    return (
        f'It has {framework}: set framework = "{framework}" in the profile for jobs that train with it. '
        f"For PyTorch, install torch there: {command}"
    )


def checked(name: str) -> Framework:
    """Return a framework's name.

    Raises:
        BadRequest: there is no such framework; the hint names the nearest.
    """
    if name in KNOWN:
        return name
    near = suggestions.nearest(name.lower(), (*KNOWN, "pytorch"), suggestions.NEAR_KEY)
    near = near.removeprefix("py") if near is not None else None
    hint = f"Did you mean {near}? " if near is not None else ""
    raise BadRequest(
        f'There is no framework "{name}".',
        f"{hint}Use one of {', '.join(KNOWN)}.",
        code="bad_framework",
        details={"field": "framework", "near": near},
    )


def imported(modules: Collection[str]) -> tuple[Framework, str] | None:
    """Return the framework that a notebook's imports indicate, and the module that indicates it.

    Torch comes first: notebooks that train with it also import TensorFlow for its data or its TensorBoard.

    Args:
        modules: top-level modules that the notebook imports.
    """
    for framework, names in MODULES.items():
        for module in names:
            if module in modules:
                return framework, module
    return None
