"""Copies of gradients in memory that is used again: new memory costs more time than the copy itself."""

from __future__ import annotations

from typing import Any

import torch


class Copies:
    """Gives memory for copies of gradients, at most as much as was in use at one time."""

    def __init__(self) -> None:
        self._free: dict[Any, list[torch.Tensor]] = {}
        """Parameter → copies of its gradient that nobody needs."""

    def of(self, parameter: Any, gradient: torch.Tensor) -> torch.Tensor:
        """Copy the gradient of a parameter."""
        free = self._free.get(parameter)
        kept = free.pop() if free else None
        if kept is None or not _alike(kept, gradient):
            return gradient.detach().clone()
        return kept.copy_(gradient.detach())

    def add(self, sums: dict[Any, torch.Tensor], batch: dict[Any, torch.Tensor]) -> None:
        """Add the copies of a batch to sums, and take them back."""
        for parameter in [p for p in batch if p not in sums]:
            sums[parameter] = batch.pop(parameter)
        for parameter, gradient in batch.items():
            sums[parameter].add_(gradient)
        self.back(batch)

    def back(self, copies: dict[Any, torch.Tensor]) -> None:
        """Take back copies that are not needed; sparse ones have a size of their own each time."""
        for parameter, copy in copies.items():
            if not copy.is_sparse:
                self._free.setdefault(parameter, []).append(copy)
        copies.clear()

    def clear(self) -> None:
        """Free the memory."""
        self._free.clear()


def _alike(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.shape == b.shape and (a.dtype, a.device, a.layout) == (b.dtype, b.device, b.layout)
