"""Splits a batch into the arguments of the model, and the target, which the model does not get."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import nn

TARGETS = ("labels", "label", "targets", "target")
"""Keys of a dict batch under which its targets are searched."""
_STARS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class ModelCall(NamedTuple):
    """Arguments of the model for a batch, and its targets if it has some; a target may itself be None."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    target: Any = None
    has_target: bool = False


class Splitter:
    """Splits batches according to the parameters of a model.

    A tuple or list contains the inputs, followed by the target unless the model needs all elements. The
    values of a dict are passed to the parameters of the same names, without the target; if the model has none
    of these names, the dict itself is passed. Anything else is the only input.

    Args:
        model: a module, or a function.
        with_target: whether the last element of a tuple is always the target.
    """

    def __init__(self, model: Callable[..., Any], with_target: bool) -> None:
        parameters = _parameters(model)
        named = [p for p in parameters if p.kind not in _STARS]
        self._needed = sum(p.default is p.empty and p.kind != p.KEYWORD_ONLY for p in named)
        self._names = {p.name for p in named if p.kind != p.POSITIONAL_ONLY}
        self._any_name = any(p.kind == p.VAR_KEYWORD for p in parameters)
        self._with_target = with_target

    def __call__(self, batch: Any) -> ModelCall:
        if isinstance(batch, torch.Tensor):
            return ModelCall((batch,), {})
        if isinstance(batch, Mapping):
            return self._from_mapping(batch)
        if not isinstance(batch, tuple | list):
            return ModelCall((batch,), {})
        if len(batch) < 2 or (len(batch) <= self._needed and not self._with_target):
            return ModelCall(tuple(batch), {})
        return ModelCall(tuple(batch[:-1]), {}, batch[-1], True)

    def _from_mapping(self, batch: Mapping[str, Any]) -> ModelCall:
        key = next((name for name in TARGETS if name in batch), None)
        target = () if key is None else (batch[key], True)
        inputs = {name: value for name, value in batch.items() if name != key}
        if self._any_name:
            return ModelCall((), inputs, *target)
        accepted = {name: value for name, value in inputs.items() if name in self._names}
        return ModelCall((), accepted, *target) if accepted else ModelCall((batch,), {}, *target)


def placed(value: Any, device: torch.device | None) -> Any:
    """A batch with its tensors moved to a device; unchanged if the device is None.

    Args:
        value: a tensor, or a nest of sequences and mappings with tensors.
        device: the device.
    """
    if device is None:
        return value
    if isinstance(value, torch.Tensor):
        return value.to(device, non_blocking=True)
    if isinstance(value, Mapping):
        return {name: placed(part, device) for name, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(placed(part, device) for part in value))
    if isinstance(value, tuple | list):
        return type(value)(placed(part, device) for part in value)
    return value


def _parameters(model: Callable[..., Any]) -> list[inspect.Parameter]:
    """Parameters of a model, or of the module inside a wrapper that passes all arguments on."""
    called = model.forward if isinstance(model, nn.Module) else model
    try:
        parameters = list(inspect.signature(called).parameters.values())
    except (TypeError, ValueError):  # built in
        return []
    if isinstance(model, nn.Module) and all(p.kind in _STARS for p in parameters):
        inner = list(model.children())
        if len(inner) == 1:
            return _parameters(inner[0])
    return parameters
