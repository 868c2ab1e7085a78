"""Saves and restores what training steps change, for steps that only measure."""

from __future__ import annotations

import contextlib
import copy
import gc
import random
from collections.abc import Iterable, Iterator, Sequence
from types import MethodType
from typing import Any

import numpy
import torch
from torch.optim.swa_utils import AveragedModel


@contextlib.contextmanager
def restored() -> Iterator[int]:
    """Restore, at the end, everything that steps of this process's optimizers change.

    Of each living optimizer: its parameters, their gradients, its state and rates; of each module with such
    parameters: buffers and modes; torch's averaged models; states of schedulers; random numbers of torch,
    Python and NumPy. A loader's position, variables of the loop itself, and averages of parameters that code
    other than torch's keeps are not known here.

    Yields:
        Bytes of memory that the copies take.
    """
    optimizers, modules, schedulers = _living()
    parameters = {id(p): p for o in optimizers for g in o.param_groups for p in g["params"]}
    averaged = [m for m in modules if issubclass(type(m), AveragedModel)]
    roots = [m for m in modules if any(id(p) in parameters for p in m.parameters())]
    parameters |= {id(p): p for m in averaged for p in m.parameters()}
    owners = [part for m in (*roots, *averaged) for part in m.modules()]
    with random_restored(), tensors_restored(list(parameters.values()), owners, modules) as size:
        states = [(o, copy.deepcopy(o.state_dict())) for o in optimizers]
        rates = [(s, copy.deepcopy(s.state_dict())) for s in schedulers]
        try:
            yield size + sum(_bytes(state) for _, state in states)
        finally:
            for optimizer, state in states:
                optimizer.load_state_dict(state)
            for scheduler, state in rates:
                scheduler.load_state_dict(state)


@contextlib.contextmanager
def tensors_restored(
    parameters: Sequence[torch.Tensor], owners: Iterable[Any], modules: Iterable[Any]
) -> Iterator[int]:
    """Restore tensors and modes at the end.

    Args:
        parameters: restored with their gradients.
        owners: modules whose buffers are restored.
        modules: modules whose modes are restored.

    Yields:
        Bytes of memory on the CPU that the copies take.
    """
    buffers = buffers_of(owners)
    tensors = [*parameters, *{id(b): b for _, had in buffers for b in had.values()}.values()]
    values = [t.detach().clone() for t in tensors]
    grads = [(p, p.grad, None if p.grad is None else p.grad.clone()) for p in parameters]
    modes = [(m, m.training) for m in modules]
    copies = [*values, *(grad for _, _, grad in grads if grad is not None)]
    try:
        yield sum(_bytes(tensor) for tensor in copies)
    finally:
        put_back(buffers)
        with torch.no_grad():
            for tensor, value in zip(tensors, values, strict=True):
                tensor.copy_(value)
            for parameter, grad, saved in grads:
                parameter.grad = grad
                if grad is not None and saved is not None:
                    grad.copy_(saved)  # in place: the gradient may be a view into a DDP bucket
        for module, mode in modes:
            module.training = mode


@contextlib.contextmanager
def random_restored() -> Iterator[None]:
    """Restore the random number states of torch, Python and NumPy at the end."""
    numbers = torch.get_rng_state(), random.getstate(), numpy.random.get_state()
    devices = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    try:
        yield
    finally:
        torch.set_rng_state(numbers[0])
        random.setstate(numbers[1])
        numpy.random.set_state(numbers[2])
        if devices:
            torch.cuda.set_rng_state_all(devices)


def buffers_of(modules: Iterable[Any]) -> list[tuple[Any, dict[str, torch.Tensor]]]:
    """The buffers of each module; a forward pass may assign others."""
    return [(m, dict(m.named_buffers(recurse=False))) for m in dict.fromkeys(modules)]


def put_back(buffers: list[tuple[Any, dict[str, torch.Tensor]]]) -> None:
    """Assign the tensors of `buffers_of` to the modules again; their values are unchanged."""
    for module, had in buffers:
        now = dict(module.named_buffers(recurse=False))
        for name in now.keys() | had.keys():
            if now.get(name) is not had.get(name):
                setattr(module, name, had.get(name))


def _living() -> tuple[list[Any], list[Any], list[Any]]:
    from torch.optim.lr_scheduler import LRScheduler

    # type(), not isinstance, which asks lazy objects for their class and so loads modules
    objects = [
        (o, type(o))
        for o in gc.get_objects()
        if issubclass(type(o), (torch.optim.Optimizer, torch.nn.Module, LRScheduler))
    ]
    return (
        [o for o, kind in objects if issubclass(kind, torch.optim.Optimizer)],
        [o for o, kind in objects if issubclass(kind, torch.nn.Module)],
        [o for o, kind in objects if issubclass(kind, LRScheduler)],
    )


def _bytes(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size() if value.device.type == "cpu" else 0
    if isinstance(value, dict):
        return sum(_bytes(each) for each in value.values())
    return sum(_bytes(each) for each in value) if isinstance(value, (list, tuple)) else 0


@contextlib.contextmanager
def communication_off() -> Iterator[None]:
    """Keep DDP models of this process from communicating inside the context, where a rank may fail alone.

    Neither does SyncBatchNorm, which takes the statistics of this rank's batch.
    """
    from torch.nn.parallel import DistributedDataParallel

    modules = _living()[1]
    models = [m for m in modules if issubclass(type(m), DistributedDataParallel)]
    norms = [(m, vars(m).get("forward")) for m in modules if issubclass(type(m), torch.nn.SyncBatchNorm)]
    for norm, _ in norms:
        vars(norm)["forward"] = MethodType(torch.nn.BatchNorm1d.forward, norm)
    before = [(m, m.require_backward_grad_sync, m.require_forward_param_sync) for m in models]
    for model in models:
        model.require_backward_grad_sync = model.require_forward_param_sync = False
    try:
        yield
    finally:
        for norm, replaced in norms:
            vars(norm).pop("forward")
            if replaced is not None:
                vars(norm)["forward"] = replaced
        for model, backward, forward in before:
            model.require_backward_grad_sync, model.require_forward_param_sync = backward, forward
