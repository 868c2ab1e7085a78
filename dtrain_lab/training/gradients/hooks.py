"""Averages gradients without DDP, makes hooks that don't keep their owner alive, and finds output tensors."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.distributed as dist


def average(model: Any, parameters: list[Any]) -> None:
    """Average gradients over a DDP model's ranks, which may have used different parameters; a collective.

    Args:
        model: the DDP model.
        parameters: those of its optimizer; others than the model's are left alone.
    """
    group = model.process_group
    mine = {id(p) for p in model.parameters()}
    averaged = [p for p in parameters if p.requires_grad and id(p) in mine]
    with torch.no_grad():
        used = torch.tensor([float(p.grad is not None) for p in averaged], device=averaged[0].device)
        dist.all_reduce(used, group=group)
        for parameter in (p for p, count in zip(averaged, used.tolist(), strict=True) if count):
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            parameter.grad.div_(dist.get_world_size(group))
            dist.all_reduce(parameter.grad, group=group)


def calling(owner: Any, method: Callable[..., Any]) -> Callable[..., Any]:
    """A hook that calls a method of its owner, and does not keep the owner alive.

    Args:
        owner: object that the hook refers to weakly.
        method: function of its class; called with the owner first.
    """
    reference = weakref.ref(owner)

    def hook(*args: Any) -> Any:
        mine = reference()
        return None if mine is None else method(mine, *args)

    return hook


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """Tensors in the output of a model: lists, tuples, dicts and data classes of them."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from tensors(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors(each)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from tensors(getattr(value, name))
