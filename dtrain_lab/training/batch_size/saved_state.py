"""Keeps what training steps change, and puts it back: for steps that only measure."""

from __future__ import annotations

import contextlib
import copy
import gc
import random
from collections.abc import Iterator
from typing import Any

import torch


@contextlib.contextmanager
def kept() -> Iterator[int]:
    """Put everything back at the end that steps of this process's optimizers change.

    Of each living optimizer: its parameters, their gradients, its state and rates; of each module with such
    parameters: buffers and modes; states of schedulers; random numbers. A loader's position, and variables of
    the loop itself, are not known here.

    Yields:
        Bytes of memory that the copies take.
    """
    optimizers, modules, schedulers = _living()
    parameters = {id(p): p for o in optimizers for g in o.param_groups for p in g["params"]}
    mine = [m for m in modules if any(id(p) in parameters for p in m.parameters(recurse=False))]
    roots = [m for m in modules if any(id(p) in parameters for p in m.parameters())]
    buffers = {id(b): b for m in roots for b in m.buffers()}
    tensors = [*parameters.values(), *buffers.values()]
    del mine
    values = [t.detach().clone() for t in tensors]
    grads = [(p, p.grad, None if p.grad is None else p.grad.clone()) for p in parameters.values()]
    modes = [(m, m.training) for m in modules]
    states = [(o, copy.deepcopy(o.state_dict())) for o in optimizers]
    rates = [(s, copy.deepcopy(s.state_dict())) for s in schedulers]
    numbers = torch.get_rng_state(), random.getstate()
    devices = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    size = sum(v.numel() * v.element_size() for v in values if v.device.type == "cpu")
    size += sum(g.numel() * g.element_size() for _, _, g in grads if g is not None and g.device.type == "cpu")
    size += sum(_bytes(state) for _, state in states)
    try:
        yield size
    finally:
        with torch.no_grad():
            for tensor, value in zip(tensors, values, strict=True):
                tensor.copy_(value)
            for parameter, grad, value in grads:
                parameter.grad = grad
                if grad is not None:
                    grad.copy_(value)  # in place: the gradient may be a view into a DDP bucket
        for optimizer, state in states:
            optimizer.load_state_dict(state)
        for scheduler, state in rates:
            scheduler.load_state_dict(state)
        for module, mode in modes:
            module.training = mode
        torch.set_rng_state(numbers[0])
        random.setstate(numbers[1])
        if devices:
            torch.cuda.set_rng_state_all(devices)


def _living() -> tuple[list[Any], list[Any], list[Any]]:
    from torch.optim.lr_scheduler import LRScheduler

    # type(), not isinstance, which asks lazy objects for their class and so loads modules
    found = [
        (o, type(o))
        for o in gc.get_objects()
        if issubclass(type(o), (torch.optim.Optimizer, torch.nn.Module, LRScheduler))
    ]
    return (
        [o for o, kind in found if issubclass(kind, torch.optim.Optimizer)],
        [o for o, kind in found if issubclass(kind, torch.nn.Module)],
        [o for o, kind in found if issubclass(kind, LRScheduler)],
    )


def _bytes(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size() if value.device.type == "cpu" else 0
    if isinstance(value, dict):
        return sum(_bytes(each) for each in value.values())
    return sum(_bytes(each) for each in value) if isinstance(value, (list, tuple)) else 0


@contextlib.contextmanager
def apart() -> Iterator[None]:
    """No DDP model of this process exchanges anything inside the context: a rank may fail alone there."""
    from torch.nn.parallel import DistributedDataParallel

    models = [m for m in _living()[1] if issubclass(type(m), DistributedDataParallel)]
    before = [(m, m.require_backward_grad_sync, m.require_forward_param_sync) for m in models]
    for model in models:
        model.require_backward_grad_sync = model.require_forward_param_sync = False
    try:
        yield
    finally:
        for model, backward, forward in before:
            model.require_backward_grad_sync, model.require_forward_param_sync = backward, forward
