"""Gradient scaling with accumulation: the scale stays the same within a group, and on all ranks.

Within a group gradients are of one rank alone. A scaler that looked at them for infinite values would skip
steps and change its scale on one rank, and not on the others.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

from torch.amp.grad_scaler import GradScaler

_find: list[Callable[[Any], Any]] = []
_within: weakref.WeakSet[Any] = weakref.WeakSet()
"""Scalers whose last step was within a group."""


def watch_scalers(find: Callable[[Any], Any]) -> None:
    """Have GradScalers leave gradients alone within a group.

    Args:
        find: returns the accumulation of an optimizer; None without one.
    """
    if not _find:
        _patch()
    _find[:] = [find]


def _accumulation(optimizer: Any) -> Any:
    found = _find[0](optimizer)
    return None if found is None or found.resting else found


def _patch() -> None:
    unscale, step, update = GradScaler.unscale_, GradScaler.step, GradScaler.update

    @functools.wraps(unscale)
    def unscaling(self: Any, optimizer: Any) -> None:
        mine = _accumulation(optimizer)
        if mine is None or mine.final:
            unscale(self, optimizer)

    @functools.wraps(step)
    def stepping(self: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        mine = _accumulation(optimizer)
        _within.discard(self)
        if mine is None or not self.is_enabled():
            return step(self, optimizer, *args, **kwargs)
        if not mine.final:
            _within.add(self)
            mine.scaler = self
            mine.commit()
            return None
        result = step(self, optimizer, *args, **kwargs)
        if mine.done:  # the scaler has found infinite gradients, and has not stepped
            mine.skipped()
        return result

    @functools.wraps(update)
    def updating(self: Any, *args: Any, **kwargs: Any) -> None:
        if self not in _within:
            update(self, *args, **kwargs)

    GradScaler.unscale_, GradScaler.step, GradScaler.update = unscaling, stepping, updating
