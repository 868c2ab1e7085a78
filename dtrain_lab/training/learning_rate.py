"""`dt.scale_lr`: the learning rate for a larger batch, with gradual warm-up."""

from __future__ import annotations

import math
from typing import Any, Literal

from torch.optim.lr_scheduler import LambdaLR, LRScheduler
from torch.optim.optimizer import Optimizer

from dtrain_lab.errors import BadRequest


class Ramp:
    """Multiplier of the learning rate at a step. A class, so that the scheduler's `state_dict` carries it.

    Args:
        target: multiplier after warm-up.
        steps: steps of warm-up; 0 for none.
    """

    def __init__(self, target: float, steps: int) -> None:
        self.target = target
        self.steps = steps

    def __call__(self, step: int) -> float:
        if step >= self.steps:
            return self.target
        return 1.0 + (self.target - 1.0) * step / self.steps


def scale_lr(
    optimizer: Optimizer, factor: float, rule: Literal["linear", "sqrt"] = "linear", warmup_steps: int = 0
) -> LRScheduler:
    """Scale the learning rate for a batch that is `factor` times as large.

    The rate begins where it is, and reaches factor × rate (linear) or √factor × rate (sqrt) after
    `warmup_steps` calls of the scheduler's `step()` (Goyal et al., 2017).

    Args:
        optimizer: its parameter groups are scaled, each from its own rate.
        factor: new batch over old batch.
        rule: "linear" for SGD, "sqrt" as is usual for Adam.
        warmup_steps: calls of `step()` until the full rate; 0: the full rate at once.

    Returns:
        A scheduler of torch; call `step()` after each step of the optimizer.

    Raises:
        BadRequest: an argument that can't be meant.
    """
    given: Any = optimizer
    if not isinstance(given, Optimizer):
        raise BadRequest(f"dt.scale_lr: {type(given).__name__} is not an optimizer of torch.")
    if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not 0 < factor < math.inf:
        raise BadRequest(f"dt.scale_lr: the factor is {factor!r}; a factor is a number greater than 0.")
    if rule not in ("linear", "sqrt"):
        raise BadRequest(f'dt.scale_lr: the rule is {rule!r}; the rules are "linear" and "sqrt".')
    if isinstance(warmup_steps, bool) or not isinstance(warmup_steps, int) or warmup_steps < 0:
        raise BadRequest(
            f"dt.scale_lr: warmup_steps is {warmup_steps!r}; warmup_steps is a whole number of 0 or more."
        )
    target = float(factor) if rule == "linear" else math.sqrt(factor)
    return LambdaLR(optimizer, Ramp(target, warmup_steps))
