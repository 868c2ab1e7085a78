"""Gradient scaling with accumulation: the scale changes only at the end of a group, equally on all ranks.

Within a group gradients are of one rank alone. A scaler that looked at them for infinite values would skip
steps and change its scale on one rank, and not on the others.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from torch.amp.grad_scaler import GradScaler

_groups: list[Callable[[], Iterable[Any]]] = []
"""Set once GradScaler's methods are replaced, which lasts as long as the process."""
_used: weakref.WeakSet[Any] = weakref.WeakSet()
"""Scalers that have looked at an optimizer's gradients since their last update."""
_ended: weakref.WeakSet[Any] = weakref.WeakSet()
"""Scalers of groups that have ended since their last update."""


def watch_scalers(groups: Callable[[], Iterable[Any]]) -> None:
    """Make GradScalers skip gradients within a group, and keep their scale until the group ends.

    Args:
        groups: returns all accumulations.
    """
    if not _groups:
        _patch()
    _groups[:] = [groups]


def _accumulation(optimizer: Any) -> Any:
    return next((each for each in _groups[0]() if each.optimizer is optimizer and not each.resting), None)


def _patch() -> None:
    unscale, step, update = GradScaler.unscale_, GradScaler.step, GradScaler.update

    @functools.wraps(unscale)
    def unscaling(self: Any, optimizer: Any) -> None:
        mine = _accumulation(optimizer)
        if mine is None or mine.final:
            _used.add(self)
            unscale(self, optimizer)

    @functools.wraps(step)
    def stepping(self: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        mine = _accumulation(optimizer)
        if mine is not None and self.is_enabled() and not mine.final:
            mine.scaler = self
            mine.commit()
            return None
        _used.add(self)
        if mine is not None:
            _ended.add(self)
        result = step(self, optimizer, *args, **kwargs)
        if mine is not None and self.is_enabled() and mine.done:  # infinite gradients: it has not stepped
            mine.skipped()
        return result

    @functools.wraps(update)
    def updating(self: Any, *args: Any, **kwargs: Any) -> None:
        used, ended = self in _used, self in _ended
        _used.discard(self)
        _ended.discard(self)
        pending = [group for group in _groups[0]() if group.scaler is self and not group.resting]
        if ended or not pending:
            before = self.get_scale() if pending else 0
            update(self, *args, **kwargs)
            if pending and (scale := self.get_scale()) != before:
                for group in pending:
                    group.rescale(scale / before)
        elif used:  # for an optimizer without accumulation: reset the scaler's record of it, keep the scale
            update(self, self.get_scale())

    GradScaler.unscale_, GradScaler.step, GradScaler.update = unscaling, stepping, updating
