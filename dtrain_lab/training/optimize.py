"""`dt.optimize`: accumulation, compression and bucket sizes for plain DDP, each optional."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dtrain_lab.errors import BadRequest
from dtrain_lab.training import ranks, store_exchange

__all__ = ["optimize"]


def optimize(
    model: Any,
    optimizer: Any,
    *,
    gradient_accumulation_steps: int = 1,
    gradient_compression: str | None = None,
    bucket_cap_mb: float | str | None = None,
) -> tuple[Any, Any]:
    """Make gradient averaging cheaper; the training loop stays as it is.

    Call it on all ranks, with the same switches: the ranks compare them first. A model without DDP is
    wrapped. The optimizer is the same object, changed.

    Args:
        model: a module, or a DDP model.
        optimizer: an optimizer of the model's parameters.
        gradient_accumulation_steps: batches whose gradients are averaged together. The optimizer steps in
            every k-th call of `step()`, with the mean of the k batches, as with a batch k times as large. The
            last batch of a DataLoader ends an incomplete group; elsewhere `optimizer.flush()` does.
            Schedulers count calls of their own `step()`, as before.
        gradient_compression: "fp16", "bf16" or "powersgd". Its relative error is printed once.
        bucket_cap_mb: size of DDP's buckets, MB; "tune" tries sizes in the first steps and keeps the best.
            `model.bucket_tuning.curve` has seconds per step by size.

    Returns:
        The DDP model (the module itself with one rank), and the optimizer.

    Raises:
        BadRequest: a switch that does not fit the model or the optimizer, or differs between ranks, or a
            rank that has not called this; nothing has been changed then.
    """
    switches = {
        "gradient_accumulation_steps": gradient_accumulation_steps,
        "gradient_compression": gradient_compression,
        "bucket_cap_mb": bucket_cap_mb,
    }
    with _agreed(model, switches):
        _check(model, optimizer, gradient_accumulation_steps, bucket_cap_mb)
        _check_compression(model, gradient_compression)
    from torch.nn.parallel import DistributedDataParallel

    from dtrain_lab.training.gradients import active_accumulations

    if isinstance(model, DistributedDataParallel) or ranks.grouped():
        model = _exchange_less(model, optimizer, gradient_compression, bucket_cap_mb)
    elif gradient_compression or bucket_cap_mb is not None:
        ranks.say(
            "dt.optimize: one rank alone exchanges no gradients: gradient_compression and bucket_cap_mb "
            "do nothing here."
        )
    active_accumulations.accumulate(model, optimizer, gradient_accumulation_steps)
    return model, optimizer


def _exchange_less(model: Any, optimizer: Any, kind: str | None, bucket_cap_mb: float | str | None) -> Any:
    """Set bucket sizes and compression of a model, which is wrapped in DDP if it is not yet.

    Args:
        model: a module, or a DDP model.
        optimizer: an optimizer of its parameters.
        kind: how gradients are compressed; None for not at all.
        bucket_cap_mb: size of DDP's buckets, MB, or "tune"; None for DDP's own choice.

    Returns:
        The DDP model.

    Raises:
        BadRequest: the model has a communication hook, or its gradients can't be compressed.
    """
    from torch.nn.parallel import DistributedDataParallel

    from dtrain_lab.training.gradients import compression, unused

    wrapped = isinstance(model, DistributedDataParallel)
    compression.check_sum(kind, model, model.process_group if wrapped else None)
    cap = None if bucket_cap_mb is None or bucket_cap_mb == "tune" else float(bucket_cap_mb)
    if not wrapped:
        model = _wrap(model, cap)
    elif bucket_cap_mb is not None:
        model = _rebuild(model, cap)
    compressed = _compress(model, kind)
    if bucket_cap_mb == "tune":
        _tune(model, optimizer, kind)
    if compressed is not None:
        model.gradient_compression = compressed
    unused.explain()
    return model


def _wrap(module: Any, cap: float | None) -> Any:
    """Wrap a module in DDP.

    Args:
        module: the module.
        cap: size of DDP's buckets, MB; None for DDP's own choice.
    """
    from torch.nn.parallel import DistributedDataParallel

    from dtrain_lab.training.gradients import unused

    buckets = {} if cap is None else {"bucket_cap_mb": cap}
    model = DistributedDataParallel(module, device_ids=_devices(module), **buckets)
    unused.note(model, optimized=True)
    return model


def _rebuild(model: Any, cap: float | None) -> Any:
    """Make a DDP model again, with another size of buckets.

    Args:
        model: the DDP model.
        cap: size of its buckets, MB; None for DDP's own choice.

    Raises:
        BadRequest: the model has a communication hook.
    """
    from dtrain_lab.training.gradients import buckets

    if _has_hook(model):
        raise BadRequest(
            "dt.optimize: the model has a communication hook, which another bucket_cap_mb would lose.",
            "Give bucket_cap_mb where the model is wrapped, or leave it out.",
            code="hook_already_set",
        )
    return buckets.rebuild(model, cap)


def _compress(model: Any, kind: str | None) -> Any:
    """Compress the gradients that a DDP model averages; returns the state, None without compression."""
    from dtrain_lab.training.gradients import compression

    state = compression.compress(model, kind) if kind else None
    if state is None and (kept := getattr(model, "gradient_compression", None)) is not None:
        ranks.say(
            f"dt.optimize: gradients are still compressed by {kept.kind}, as the previous call requested."
        )
    return state


def _tune(model: Any, optimizer: Any, kind: str | None) -> None:
    """Let the first steps choose the size of a DDP model's buckets.

    Args:
        model: the DDP model.
        optimizer: steps end with its `step()`.
        kind: how gradients are compressed, in each size that is tried; None if they aren't.
    """
    from dtrain_lab.training.gradients import buckets, compression

    def prepared(made: Any) -> None:
        if kind:
            compression.register(made, compression.Compression(kind, made.process_group))

    model.bucket_tuning = buckets.Tuning(model, optimizer, prepared)


@contextmanager
def _agreed(model: Any, switches: dict[str, Any]) -> Iterator[None]:
    """Check this rank's options inside the context; at its end, compare them with the other ranks'."""
    from torch.nn.parallel import DistributedDataParallel

    if not ranks.grouped():
        yield
        return
    import torch.distributed as dist

    group = model.process_group if isinstance(model, DistributedDataParallel) else None
    members = dist.get_process_group_ranks(group)
    try:
        yield
    except BadRequest as error:
        store_exchange.stay_away("dt.optimize", members, f"on rank {ranks.rank()}: {error}")
        raise
    try:
        switches_of = store_exchange.meet(
            "dt.optimize", members, {name: repr(value) for name, value in switches.items()}
        )
    except store_exchange.Absent as absent:
        if absent.reasons:
            raise BadRequest(f"dt.optimize was given up {absent.reasons[0]}") from None
        raise BadRequest(
            f"dt.optimize: {absent.names} did not call dt.optimize within {store_exchange.PATIENCE_S:.0f} s.",
            "Call it on all ranks, with the same switches: it changes what the ranks exchange.",
        ) from None
    for name in switches:
        ranks_of: dict[str, list[str]] = {}
        for number, theirs in (switches_of or {}).items():
            ranks_of.setdefault(theirs[name], []).append(str(number))
        if len(ranks_of) > 1:
            values = " and ".join(
                f"{value} on rank{'s' if len(who) > 1 else ''} {', '.join(who)}"
                for value, who in ranks_of.items()
            )
            raise BadRequest(
                f"dt.optimize: {name} is {values}: gradients could not be averaged.",
                "Call dt.optimize with the same switches on all ranks.",
            )


def _check_compression(model: Any, kind: str | None) -> None:
    from dtrain_lab.training.gradients import compression

    compression.check(kind, model)


def _has_hook(model: Any) -> bool:
    """Whether a DDP model that is about to be replaced has a communication hook."""
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

    try:
        model.register_comm_hook(model.process_group, allreduce_hook)
    except RuntimeError:
        return True
    return False


def _devices(model: Any) -> list[Any] | None:
    devices = {p.device for p in model.parameters()}
    return list(devices) if len(devices) == 1 and next(iter(devices)).type == "cuda" else None


def _check(model: Any, optimizer: Any, every: object, cap: object) -> None:
    import torch

    if not isinstance(model, torch.nn.Module):
        raise BadRequest(
            f"dt.optimize: the model is of type {type(model).__name__}; it must be a torch.nn.Module."
        )
    if any(hasattr(module, "set_requires_gradient_sync") for module in model.modules()):
        raise BadRequest(
            "dt.optimize: the model is sharded by FSDP2, which averages gradients in its own way.",
            "Use model.set_requires_gradient_sync(False) in the batches between.",
        )
    fsdp = sys.modules.get("torch.distributed.fsdp")  # loaded if it shards a model
    if fsdp is not None and any(isinstance(m, fsdp.FullyShardedDataParallel) for m in model.modules()):
        raise BadRequest(
            "dt.optimize: the model is sharded by FullyShardedDataParallel, which averages gradients in its "
            "own way.",
            "Use model.no_sync() in the batches between.",
        )
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise BadRequest(
            f"dt.optimize: the optimizer is of type {type(optimizer).__name__}; "
            "it must be one of torch.optim."
        )
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise BadRequest(
            f"dt.optimize: gradient_accumulation_steps is {every!r}; it must be a whole number of 1 or more."
        )
    if every > 1 and isinstance(optimizer, torch.optim.LBFGS):
        raise BadRequest(
            "dt.optimize: LBFGS computes the gradients several times in one step, so gradients of several "
            "batches can't be accumulated for it.",
            "Take a larger batch, or another optimizer.",
            code="optimizer_unfit",
        )
    if cap is not None and cap != "tune" and not _size(cap):
        raise BadRequest(f'dt.optimize: bucket_cap_mb is {cap!r}; it is a number of MB, or "tune".')
    mine = {id(p) for p in model.parameters() if p.requires_grad}
    if not mine:
        raise BadRequest(
            "dt.optimize: no parameter of the model requires a gradient.",
            "Set requires_grad of those that are to be trained.",
        )
    if not any(id(p) in mine for group in optimizer.param_groups for p in group["params"]):
        raise BadRequest(
            f"dt.optimize: {type(optimizer).__name__} has none of the model's parameters.",
            "Create the optimizer from model.parameters() of this model.",
            code="optimizer_unfit",
        )


def _size(cap: object) -> bool:
    return isinstance(cap, (int, float)) and not isinstance(cap, bool) and 0 < cap < math.inf
