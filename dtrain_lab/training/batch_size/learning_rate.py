"""`dt.scale_lr`: the learning rate for a larger batch, with gradual warm-up."""

from __future__ import annotations

import math
import weakref
from typing import Any, Literal

import torch
from torch.optim.lr_scheduler import LRScheduler
from torch.optim.optimizer import Optimizer

from dtrain_lab.errors import BadRequest
from dtrain_lab.training import ranks

_before: weakref.WeakKeyDictionary[Optimizer, list[float]] = weakref.WeakKeyDictionary()
"""Optimizer → rates of its groups before they were scaled."""


class Ramp(LRScheduler):  # type: ignore[misc] # torch is not typed
    """Changes the rate linearly from a share of the base rate to the base rate, over a number of steps.

    It multiplies the current rate, as torch's chainable schedulers do, so that others can be used beside it
    or after it. torch's LinearLR does the same, but not from a share above 1, which a smaller batch needs.

    Args:
        optimizer: its base rates are `initial_lr` of its groups.
        share: first rate over base rate; greater than 0.
        steps: calls of `step()` until the base rate; 0: the base rate at once.
    """

    def __init__(self, optimizer: Optimizer, share: float, steps: int) -> None:
        self.share = share
        self.steps = steps
        super().__init__(optimizer)

    def get_lr(self) -> list[Any]:
        """Rates of the groups, from those that they have now."""
        step: int = self.last_epoch
        if step == 0:
            ratio = self._at(0)
        elif step > self.steps:
            ratio = 1.0
        else:
            ratio = self._at(step) / self._at(step - 1)
        return [group["lr"] * ratio for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self._at(self.last_epoch) for base in self.base_lrs]

    def _at(self, step: int) -> float:
        return 1.0 if step >= self.steps else self.share + (1.0 - self.share) * step / self.steps


def scale_lr(
    optimizer: Optimizer, factor: float, rule: Literal["linear", "sqrt"] = "linear", warmup_steps: int = 0
) -> LRScheduler:
    """Scale the learning rate for a batch that is `factor` times as large.

    The rate begins where it is, and reaches factor × rate (linear) or √factor × rate (sqrt) after
    `warmup_steps` calls of the scheduler's `step()` (Goyal et al., 2017). Schedulers that are made after it
    begin at the scaled rate: step them beside it, or after it by `SequentialLR`. Those that recompute the
    rate at each step, as LambdaLR does, ignore the warm-up. Called again for an optimizer, it
    scales from the rate before the first call, and says so.

    Args:
        optimizer: its parameter groups are scaled, each from its own rate.
        factor: new batch over old batch.
        rule: "linear" for SGD, "sqrt" as is usual for Adam.
        warmup_steps: calls of `step()` until the full rate; 0: the full rate at once.

    Returns:
        A scheduler of torch; call `step()` after each step of the optimizer.

    Raises:
        BadRequest: an invalid argument.
    """
    given: Any = optimizer
    if not isinstance(given, Optimizer):
        raise BadRequest(
            f"dt.scale_lr: the optimizer is of type {type(given).__name__}; it must be one of torch.optim."
        )
    if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not 0 < factor < math.inf:
        raise BadRequest(f"dt.scale_lr: the factor is {factor!r}; a factor is a number greater than 0.")
    if rule not in ("linear", "sqrt"):
        raise BadRequest(f'dt.scale_lr: the rule is {rule!r}; the rules are "linear" and "sqrt".')
    if isinstance(warmup_steps, bool) or not isinstance(warmup_steps, int) or warmup_steps < 0:
        raise BadRequest(
            f"dt.scale_lr: warmup_steps is {warmup_steps!r}; it must be a whole number of 0 or more."
        )
    target = float(factor) if rule == "linear" else math.sqrt(factor)
    groups = optimizer.param_groups
    before = _before.get(optimizer)
    if before is None or len(before) != len(groups):
        before = [float(group["lr"]) for group in groups]
    else:  # a cell that runs again must not scale the scaled rate
        first = ", ".join(dict.fromkeys(f"{rate:g}" for rate in before))
        ranks.say(
            f"dt.scale_lr: the rate of this optimizer was scaled before; it is scaled from {first} again."
        )
    _before[optimizer] = before
    for group, rate in zip(groups, before, strict=True):
        if isinstance(group["lr"], torch.Tensor):
            group["lr"].fill_(rate * target)
            group["initial_lr"] = group["lr"].clone()
        else:
            group["initial_lr"] = group["lr"] = rate * target
    return Ramp(optimizer, 1 / target, warmup_steps)
