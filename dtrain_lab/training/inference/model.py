"""The model while it predicts: in eval mode, without gradients, without collectives to hang in."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.distributed.fsdp import FSDPModule, FullyShardedDataParallel
from torch.nn.parallel import DistributedDataParallel

from dtrain_lab.errors import BadRequest
from dtrain_lab.training.inference.rank_exchange import Ranks

GLANCE = 1024
"""Approximate number of values per tensor that a quick fingerprint reads."""
NAMED = 3
"""Maximum number of tensors that an error names."""

Model = Callable[..., Any]


def check(call: str, model: Any) -> None:
    """Check that `model` can be called.

    Args:
        call: name of the function that the user called, for the error.
        model: the argument.

    Raises:
        BadRequest: It can't be called.
    """
    if not callable(model):
        raise BadRequest(
            f"{call} needs a model, but got {type(model).__name__}.",
            "Pass a torch.nn.Module, or a function of a batch.",
            code="not_a_model",
        )


def beneath(model: Model) -> Model:
    """The module inside a DDP wrapper; any other model itself."""
    return model.module if isinstance(model, DistributedDataParallel) else model


def in_step(model: Model) -> bool:
    """Whether all ranks have to call the model equally often: a call of an FSDP model is a collective."""
    return any(isinstance(module, FSDPModule | FullyShardedDataParallel) for module in _modules(model))


def device(model: Model) -> torch.device | None:
    """Device for the model's inputs; None if the model has no parameters or buffers."""
    if not isinstance(model, nn.Module):
        return None
    computes = getattr(model, "compute_device", None)  # of FSDP, whose parameters may wait on the CPU
    if isinstance(computes, torch.device):
        return computes
    for tensor in _tensors(model).values():
        mesh = getattr(tensor, "device_mesh", None)  # of FSDP2, where the same holds
        if mesh is not None and mesh.device_type != "cpu":
            return torch.device(mesh.device_type, torch.accelerator.current_device_index())
        return tensor.device
    return None


@contextmanager
def predicting(model: Model) -> Iterator[Model]:
    """Context with the callable for predictions: eval mode, no gradients; restores the modes of modules."""
    modules = _modules(model)
    training = [module for module in modules if module.training]
    # DDP, also compiled or in other modules, sends buffers before each forward; ranks have unequal batches
    sending = [m for m in modules if isinstance(m, DistributedDataParallel) and m.require_forward_param_sync]
    try:
        for module in modules:
            module.training = False
        for module in sending:
            module.require_forward_param_sync = False
        with torch.no_grad():
            yield beneath(model)
    finally:
        for module in training:
            module.training = True
        for module in sending:
            module.require_forward_param_sync = True


def send_buffers(ranks: Ranks, model: Model) -> None:
    """Give all ranks the buffers of rank 0, as DDP does before a forward; a collective.

    Args:
        ranks: the ranks that take part.
        model: the model; a function has no buffers.
    """
    for module in _modules(model):
        if isinstance(module, DistributedDataParallel) and module.broadcast_buffers:
            for buffer in module.module.buffers():
                ranks.broadcast(buffer.detach(), 0)


def agree(ranks: Ranks, model: Model, *, whole: bool) -> str:
    """Fingerprint of a model that all ranks have; a collective.

    Args:
        ranks: this rank among the others.
        model: the model.
        whole: whether every value counts, or only `GLANCE` of each tensor.

    Returns:
        Hexadecimal digits, the same on all ranks; of FSDP models they hold for this number of ranks.

    Raises:
        BadRequest: The ranks' parameters or buffers differ.
    """
    marks = ranks.everyone(lambda: fingerprint(model, whole=whole))
    if in_step(model):
        return hashlib.sha256("".join(marks).encode()).hexdigest()
    other = next((rank for rank, mark in enumerate(marks) if mark != marks[0]), None)
    if other is not None:
        tensors = ranks.everyone(lambda: _marks(model, whole=whole))
        raise _differ(other, tensors[0], tensors[other])
    return marks[0]


def _marks(model: Model, *, whole: bool) -> dict[str, tuple[bool, str]]:
    """Name of each tensor → whether it is a buffer, and its digest."""
    if not isinstance(model, nn.Module):
        return {}
    buffers = dict(beneath(model).named_buffers())  # type: ignore[attr-defined]
    return {
        name: (name in buffers, _digest({name: tensor}, whole=whole))
        for name, tensor in _tensors(model).items()
    }


def _differ(rank: int, first: dict[str, tuple[bool, str]], other: dict[str, tuple[bool, str]]) -> BadRequest:
    """The error of a rank whose tensors differ from rank 0's."""
    both = {**first, **other}
    names = [name for name in both if first.get(name) != other.get(name)]
    parameters = [name for name in names if not both[name][0]]
    named = parameters or names
    which = f": {', '.join(named[:NAMED])}" if named else ""
    which += f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
    if named and not parameters:
        return BadRequest(
            f"The model's buffers on rank {rank} differ from those on rank 0{which}.",
            "Each rank has updated its own, as BatchNorm does in train mode. Wrap the model in "
            "DistributedDataParallel, which broadcasts those of rank 0, or load the same on all ranks.",
            code="models_differ",
        )
    return BadRequest(
        f"The model's parameters on rank {rank} differ from those on rank 0{which}.",
        "Load the same weights on all ranks, or wrap the model in DistributedDataParallel.",
        code="models_differ",
    )


def fingerprint(model: Model, *, whole: bool) -> str:
    """Digest of this rank's parameters and buffers; an empty string for a function.

    Args:
        model: the model.
        whole: whether all values count, not a sample of them.
    """
    if not isinstance(model, nn.Module):
        return ""
    return _digest(_tensors(model), whole=whole)


def _digest(tensors: Mapping[str, torch.Tensor], *, whole: bool) -> str:
    digest = hashlib.sha256()
    for name, tensor in tensors.items():
        values = getattr(tensor, "to_local", lambda tensor=tensor: tensor)().detach()
        flat = values.to_dense().reshape(-1) if values.layout != torch.strided else values.reshape(-1)
        if not whole:
            flat = flat[:: max(1, flat.numel() // GLANCE)]
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(flat.cpu().contiguous().view(torch.uint8).numpy())
    return digest.hexdigest()


def _modules(model: Model) -> list[nn.Module]:
    return list(model.modules()) if isinstance(model, nn.Module) else []


def _tensors(model: nn.Module) -> dict[str, torch.Tensor]:
    """Parameters and buffers, except those whose shape is unknown before the first forward."""
    inner = beneath(model)
    tensors = {**dict(inner.named_parameters()), **dict(inner.named_buffers())}  # type: ignore[attr-defined]
    return {name: tensor for name, tensor in tensors.items() if not nn.parameter.is_lazy(tensor)}
