"""Gradient compression with torch's own communication hooks, and its error, which is printed once."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

from dtrain_lab.errors import BadRequest
from dtrain_lab.training import ranks

KINDS = ("fp16", "bf16", "powersgd")
DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}
RANK, START = 4, 10
"""Rank of PowerSGD's approximation, and the averaging from which it compresses."""
LARGE_ERROR = 0.10


class _Waiting:
    """`torch.distributed` as PowerSGD's hook sees it: collectives on the CPU have ended when they return.

    The hook's callbacks begin collectives and wait for them. On the CPU they would run in gloo's own threads,
    which then wait for themselves. A callback of a future that is done runs in the thread that adds it.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(dist, name)

    def all_reduce(self, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        work = dist.all_reduce(tensor, *args, **kwargs)
        if work is not None and not tensor.is_cuda:
            work.wait()
        return work


class Compression:
    """State of the hook: torch's own hook and its state, and the measurement of its error.

    Args:
        kind: one of `KINDS`.
        group: process group of the model.
        tells: whether the error is measured once, and printed.
    """

    def __init__(self, kind: str, group: Any, *, tells: bool = True) -> None:
        self.kind = kind
        self.group = group
        self._tells = tells
        self.error: float | None = None
        """Relative error of the compressed gradient, measured once; None before that."""
        self._round = self._buckets = 0
        self._squares: list[tuple[torch.Tensor, torch.Tensor]] = []
        if kind == "powersgd":
            if not isinstance(powerSGD_hook.dist, _Waiting):
                powerSGD_hook.dist = _Waiting()
            self._state: Any = powerSGD_hook.PowerSGDState(
                process_group=group, matrix_approximation_rank=RANK, start_powerSGD_iter=START
            )
            self._hook: Any = powerSGD_hook.powerSGD_hook
        else:
            self._state = group
            self._hook = (
                default_hooks.fp16_compress_hook if kind == "fp16" else default_hooks.bf16_compress_hook
            )

    @property
    def _measured(self) -> int:
        """The averaging that is measured: the first compressed one whose buckets are final."""
        return START + 2 if self.kind == "powersgd" else 2

    def __call__(self, bucket: Any) -> torch.futures.Future[torch.Tensor]:
        """Average a bucket; once also without compression, to measure the error."""
        measured = self._tells and self._round == self._measured
        exact = None
        if measured:
            exact = bucket.buffer().detach().clone()
            exact.div_(dist.get_world_size(self.group))
            dist.all_reduce(exact, group=self.group)
        last = bucket.is_last()
        future = self._hook(self._state, bucket)
        if last:
            self._round += 1
            self._buckets = bucket.index() + 1
        if exact is None:
            return future

        def compare(done: Any) -> torch.Tensor:
            result = done.value()
            averaged: torch.Tensor = result[0] if isinstance(result, list) else result
            self._squares.append(((averaged - exact).double().square().sum(), exact.double().square().sum()))
            if len(self._squares) == self._buckets:
                self._warn()
            return averaged

        return future.then(compare)

    def _warn(self) -> None:
        wrong, whole = (float(sum(float(pair[i]) for pair in self._squares)) for i in (0, 1))
        self.error = (wrong / whole) ** 0.5 if whole else 0.0
        self._squares.clear()
        if not math.isfinite(self.error):
            text = f"dt.optimize: {self.kind} compression: the compressed gradient is not finite."
            if math.isfinite(whole):  # without compression it is
                most = torch.finfo(DTYPES[self.kind]).max if self.kind in DTYPES else None
                text += f" Gradients exceed the largest value of {self.kind} ({most:,.0f})." if most else ""
                text += " bf16 can represent them." if self.kind == "fp16" else ""
            ranks.say(text)
            return
        text = f"dt.optimize: {self.kind} compression: relative error of the gradient {self.error:.2%}."
        if self.error > LARGE_ERROR:
            text += (
                " Gradients underflow in fp16; bf16 can represent them."
                if self.kind == "fp16"
                else " Compare the loss with a run without compression."
            )
        ranks.say(text)


def average(state: Compression, bucket: Any) -> torch.futures.Future[torch.Tensor]:
    """The communication hook that is registered with DDP.

    Args:
        state: the kind of compression, and what it keeps between steps.
        bucket: the `GradBucket` of DDP.

    Returns:
        A future of the averaged gradients.
    """
    return state(bucket)


# DDP compares annotations with these types, and would find strings here
average.__annotations__ = {"bucket": dist.GradBucket, "return": torch.futures.Future[torch.Tensor]}


def check(kind: str | None, module: Any) -> None:
    """Refuse gradients that can't be compressed.

    Args:
        kind: `gradient_compression` of `dt.optimize`.
        module: the model.

    Raises:
        BadRequest: an unknown kind, or gradients that can't be made smaller.
    """
    if kind is None:
        return
    if kind not in KINDS:
        raise BadRequest(
            f"dt.optimize: gradient_compression is {kind!r}; it is one of "
            + ", ".join(f'"{each}"' for each in KINDS)
            + ", or None.",
            code="bad_compression",
        )
    if kind == "powersgd":
        sparse = next((n for n, m in module.named_modules() if getattr(m, "sparse", False) is True), None)
        if sparse is not None:
            raise BadRequest(
                f"dt.optimize: gradients of {sparse} are sparse, which PowerSGD can't average: the ranks' "
                "parameters would drift apart.",
                'Take "bf16", or sparse=False.',
                code="bad_compression",
            )
    for name, parameter in module.named_parameters():
        if not parameter.requires_grad:
            continue
        if not parameter.dtype.is_floating_point:
            raise BadRequest(
                f"dt.optimize: gradients of {name} are {_short(parameter.dtype)}; only real floating-point "
                "gradients can be compressed.",
                "Leave gradient_compression out for this model.",
                code="bad_compression",
            )
        if kind in DTYPES and parameter.dtype.itemsize <= 2:
            raise BadRequest(
                f"dt.optimize: gradients of {name} are {_short(parameter.dtype)} already: {kind} "
                "compression would save nothing.",
                "Leave gradient_compression out.",
                code="bad_compression",
            )


def check_sum(kind: str | None, module: Any, group: Any) -> None:
    """Refuse a type that the back-end can't sum, by trying it; a collective.

    Args:
        kind: `gradient_compression` of `dt.optimize`.
        module: the model.
        group: its process group; None for the default one.

    Raises:
        BadRequest: the back-end can't sum this type.
    """
    if kind not in DTYPES:
        return
    device = next(module.parameters()).device
    try:
        dist.all_reduce(torch.ones(1, dtype=DTYPES[kind], device=device), group=group)
    except RuntimeError as error:
        raise BadRequest(
            f"dt.optimize: {dist.get_backend(group)} can't sum {kind} gradients here: {error}",
            'Try another gradient_compression, "powersgd" for one.',
            code="bad_compression",
        ) from error


def compress(model: Any, kind: str) -> Compression:
    """Register the hook of a kind with a DDP model.

    Args:
        model: the DDP model.
        kind: kind of compression.

    Returns:
        The hook's state; the existing one if the same kind is requested again.

    Raises:
        BadRequest: the model has a communication hook already.
    """
    earlier = getattr(model, "gradient_compression", None)
    if isinstance(earlier, Compression):
        if earlier.kind == kind:
            return earlier
        raise BadRequest(
            f"dt.optimize: the model's gradients are compressed by {earlier.kind} already, and DDP accepts "
            "only one communication hook.",
            "Wrap the module again: dt.optimize(model.module, …).",
            code="hook_already_set",
        )
    state = Compression(kind, model.process_group)
    register(model, state)
    if kind == "powersgd":
        ranks.say(f"dt.optimize: PowerSGD of rank {RANK} compresses from the {START}th averaging on.")
    return state


def register(model: Any, state: Compression) -> None:
    """Register a hook.

    Args:
        model: the DDP model.
        state: state of the hook.

    Raises:
        BadRequest: the model has one already.
    """
    try:
        model.register_comm_hook(state, average)
    except RuntimeError as error:
        if "once" not in str(error):
            raise
        raise BadRequest(
            "dt.optimize: the model has a communication hook already, and DDP accepts only one.",
            "Wrap the module again, without register_comm_hook, or leave gradient_compression out.",
            code="hook_already_set",
        ) from None


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
