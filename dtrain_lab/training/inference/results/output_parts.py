"""A model's output for a batch: its parts, and how each is divided into samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from dtrain_lab.errors import BadRequest

Kind = Literal["rows", "each", "whole"]
Path = tuple[tuple[str, Any], ...]
"""Path to a part: ("key", name) in dicts, ("item", number) in tuples; empty for an output of one part."""


@dataclass(frozen=True)
class Part:
    """A part of a batch's output.

    `rows`: a tensor on the CPU, one row per sample. `each`: a list, one object per sample. `whole`: one
    object for the batch.
    """

    kind: Kind
    value: Any


Output = dict[Path, Part]


def parts(output: Any, samples: int) -> Output:
    """Split a model's output into its parts.

    Args:
        output: a tensor, array, list or other object, or dicts and tuples of these.
        samples: samples of the batch.

    Raises:
        BadRequest: A tensor does not have one row per sample.
    """
    collected: Output = {}
    _collect(output, samples, (), collected)
    return collected


def built(values: Mapping[Path, Any]) -> Any:
    """Put parts together as the model returned them; the inverse of `parts`."""
    if () in values:
        return values[()]
    inner: dict[tuple[str, Any], dict[Path, Any]] = {}
    for path, value in values.items():
        inner.setdefault(path[0], {})[path[1:]] = value
    parts = {step: built(rest) for step, rest in inner.items()}
    if all(kind == "item" for kind, _ in parts):
        return tuple(parts.values())
    return {name: value for (_, name), value in parts.items()}


def title(path: Path) -> str:
    """Name of a part, as of a column: `logits`, `hidden.0`; `prediction` for an output that is one part."""
    return ".".join(str(name) for _, name in path) or "prediction"


def _collect(output: Any, samples: int, path: Path, collected: Output) -> None:
    if isinstance(output, torch.Tensor):
        collected[path] = Part("rows", _rows(output, samples, path))
    elif isinstance(output, Mapping):
        for name, part in output.items():
            _collect(part, samples, (*path, ("key", name)), collected)
    elif isinstance(output, np.ndarray):
        _array(output, samples, path, collected)
    elif isinstance(output, list) and len(output) == samples:
        collected[path] = Part("each", [retained(value) for value in output])
    elif isinstance(output, tuple | list):
        for number, part in enumerate(output):
            _collect(part, samples, (*path, ("item", number)), collected)
    else:
        collected[path] = Part("whole", output)


def _array(output: np.ndarray[Any, Any], samples: int, path: Path, collected: Output) -> None:
    if output.dtype.kind in "biufc":
        collected[path] = Part("rows", _rows(torch.tensor(output), samples, path))
    else:
        _collect(list(output), samples, path, collected)


def _rows(tensor: torch.Tensor, samples: int, path: Path) -> torch.Tensor:
    if tensor.dim() < 1 or tensor.shape[0] != samples:
        shape = "×".join(map(str, tensor.shape)) or "that of a single number"
        name = f"{title(path)} of the model's output" if path else "The model's output"
        raise BadRequest(
            f"{name} must have one row for each of the {samples} samples of a batch; its shape is {shape}.",
            "Let the model return a tensor whose first dimension is the batch's, or a dict of such tensors.",
            code="no_rows",
        )
    return retained(tensor)


def retained(value: Any) -> Any:
    """A copy of a value that can be kept: on the CPU, and not a view of memory that is larger or reused."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone() if value.device.type == "cpu" else value.detach().cpu()
    if isinstance(value, Mapping):
        return {name: retained(part) for name, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(retained(part) for part in value))
    if isinstance(value, tuple | list):
        return type(value)(retained(part) for part in value)
    return value
