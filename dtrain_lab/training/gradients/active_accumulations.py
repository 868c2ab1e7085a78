"""The accumulations of this process: at most one per optimizer."""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dtrain_lab.text.units import counted
from dtrain_lab.training import ranks
from dtrain_lab.training.gradients import accumulation_rules
from dtrain_lab.training.gradients.accumulation import Accumulation
from dtrain_lab.training.gradients.grad_scaler import watch_scalers
from dtrain_lab.training.gradients.loader_end import watch_epochs

_all: weakref.WeakSet[Accumulation] = weakref.WeakSet()
"""Each is kept alive by its optimizer's own `step`."""


def living() -> list[Accumulation]:
    """All accumulations in the order they were made, which is the same on all ranks."""
    return sorted(_all, key=lambda each: each.number)


@atexit.register
def tell_unfinished() -> None:
    """Report incomplete groups; called when a cell has ended without an error, and at exit."""
    if _all:
        accumulation_rules.tell_unfinished(living())


def of(optimizer: Any) -> Accumulation | None:
    """The accumulation of an optimizer; None without one."""
    return next((each for each in _all if each.optimizer is optimizer), None)


def accumulate(model: Any, optimizer: Any, every: int) -> None:
    """Let an optimizer step once every `every` batches; 1 restores its own behaviour.

    Args:
        model: the DDP model.
        optimizer: the optimizer of its parameters.
        every: number of batches per step.
    """
    earlier = of(optimizer)
    if earlier is not None:
        if earlier.done:
            dropped = counted(earlier.done, "batch", "batches")
            ranks.say(f"dt.optimize: the gradients of {dropped} of a group are dropped.")
        earlier.remove()
        _all.discard(earlier)
    if every > 1:
        watch_epochs(living)
        watch_scalers(living)
        accumulation_rules.watch_optimizers(living)
        _all.add(Accumulation(model, optimizer, every))


@contextmanager
def resting() -> Iterator[None]:
    """Suspend accumulation inside the context, for measured steps that are undone afterwards."""
    all_of_them = list(_all)
    for each in all_of_them:
        each.resting = True
        each.sync()
    try:
        yield
    finally:
        for each in all_of_them:
            each.resting = False
            each.sync()
