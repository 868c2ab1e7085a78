"""Copies of gradients in memory that is reused: allocating memory costs more time than the copy itself."""

from __future__ import annotations

from typing import Any

import torch


class GradientCopies:
    """Provides memory for copies of gradients, at most as much as was in use at any time."""

    def __init__(self) -> None:
        self._free: dict[Any, list[torch.Tensor]] = {}
        """Parameter → copies of its gradient that can be reused."""

    def sum(self, parameter: Any, total: torch.Tensor | None, gradient: torch.Tensor) -> torch.Tensor:
        """Add a gradient to a total, which is unchanged, in a single pass through memory.

        Args:
            parameter: The parameter whose gradient it is.
            total: Sum of earlier gradients; None before the first, which is copied.
            gradient: The gradient to add, in the shape of the parameter.

        Returns:
            The new sum, in memory that `back` takes.
        """
        free = self._free.get(parameter)
        kept = free.pop() if free else None
        mine = gradient.detach()
        if kept is None or not _match(kept, mine) or (total is not None and not _match(kept, total)):
            return mine.clone() if total is None else total + mine
        return kept.copy_(mine) if total is None else torch.add(total, mine, out=kept)

    def back(self, copies: dict[Any, torch.Tensor]) -> None:
        """Take back copies that are no longer needed; not sparse ones, whose size differs each time."""
        for parameter, copy in copies.items():
            if not copy.is_sparse:
                self._free.setdefault(parameter, []).append(copy)
        copies.clear()

    def clear(self) -> None:
        """Free the memory."""
        self._free.clear()


def _match(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.shape == b.shape and (a.dtype, a.device, a.layout) == (b.dtype, b.device, b.layout)
