"""Sums of the gradients of a group's batches, separate from `p.grad`, which the loop may change freely."""

from __future__ import annotations

from typing import Any

import torch

from dtrain_lab.training.gradients.gradient_copies import GradientCopies


class GradientSums:
    """Sums over the counted batches, and sums that include the current batch, which may be discarded."""

    def __init__(self) -> None:
        self._counted: dict[Any, torch.Tensor] = {}
        """Parameter → sum of the gradients of this group's batches so far, before the loop changed them."""
        self._with_current: dict[Any, torch.Tensor] = {}
        """Parameter → the sum with the current batch."""
        self._copies = GradientCopies()

    def __contains__(self, parameter: Any) -> bool:
        return parameter in self._counted

    def add(self, parameter: Any, gradient: torch.Tensor) -> None:
        """Add a gradient of the current batch.

        Args:
            parameter: The parameter whose gradient it is.
            gradient: The gradient, in the shape of the parameter; it is not changed.
        """
        gradient, total = gradient.detach(), self._with_current.get(parameter)
        if total is None or parameter.grad is None:  # None: discarded by `zero_grad` of the model
            self._with_current[parameter] = self._copies.sum(
                parameter, self._counted.get(parameter), gradient
            )
        else:
            self._with_current[parameter] = total + gradient if total.is_sparse else total.add_(gradient)

    def count(self) -> None:
        """Count the current batch: its gradients belong to the group from now on."""
        replaced = {p: total for p, total in self._counted.items() if p in self._with_current}
        self._copies.back(replaced)
        self._counted |= self._with_current
        self._with_current.clear()

    def discard_current(self) -> None:
        """Discard the gradients of the current batch, as `zero_grad` does."""
        self._copies.back(self._with_current)

    def clear(self) -> None:
        """Discard everything; the memory is used for the next group."""
        self._copies.back(self._counted)
        self._copies.back(self._with_current)

    def free(self) -> None:
        """Discard everything, and free the memory."""
        self.clear()
        self._copies.clear()

    def all_in_grad(self) -> bool:
        """Whether every parameter that has a sum has a gradient, too."""
        return all(p.grad is not None for p in self._counted)

    def put(self, share: float) -> None:
        """Add the sums of the counted batches, times `share`, to `p.grad`."""
        with torch.no_grad():
            for parameter, total in self._counted.items():
                mean = total * share
                parameter.grad = mean if parameter.grad is None else parameter.grad + mean

    def rescale(self, factor: float) -> None:
        """Multiply all sums by a factor."""
        with torch.no_grad():
            for total in (*self._counted.values(), *self._with_current.values()):
                total.mul_(factor)
