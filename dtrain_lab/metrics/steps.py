"""Finds step boundaries without user code, as the smallest repeating cycle of optimizers.

With one optimizer each of its steps is a training step. With several (a GAN, one per layer) a training step
is the shortest sequence of them that repeats and contains all.
"""

from __future__ import annotations

KEPT = 128
PHASE = 24
"""Number of steps of one optimizer in a row after which it counts as the only one."""


class StepCycle:
    """Tells for each optimizer step whether a training step ends with it."""

    def __init__(self) -> None:
        self._optimizers: list[int] = []
        self._cycle: list[int] | None = None
        self._at = 0
        self.mixed = False
        """Whether more than one optimizer has been seen."""
        self._before = 0
        """Training steps of earlier cycles."""
        self._fed = 0
        """Optimizer steps since the last earlier cycle."""
        self.count = 0
        """Training steps so far. Once a cycle is known, steps before it are counted by that cycle."""

    @property
    def unsure(self) -> bool:
        """Whether there are several optimizers, and no repeating cycle yet."""
        return self._cycle is None and self.mixed

    def ends(self, optimizer: int) -> bool:
        """Called when an optimizer has stepped.

        Args:
            optimizer: its id.

        Returns:
            Whether the training step ends with this optimizer step.
        """
        recent = self._optimizers
        self._fed += 1
        if len(recent) > PHASE and not self.mixed and self._cycle is None and recent[-1] == optimizer:
            self.count += 1  # the usual case of a single optimizer, whose further steps need not be kept
            return True
        recent.append(optimizer)
        del self._optimizers[:-KEPT]
        if self._cycle is not None:
            if self._cycle[self._at] == optimizer:
                self._at = (self._at + 1) % len(self._cycle)
                self.count += self._at == 0
                return self._at == 0
            self._cycle = None
            self._optimizers = self._optimizers[-1:]
            self.mixed = False
            self._before, self._fed = self.count, 1
        if not self.mixed and len(self._optimizers) > 1 and self._optimizers[-2] != optimizer:
            self.mixed = True
            if (
                len(self._optimizers) > PHASE
            ):  # another optimizer joins in after a phase, whose steps are counted
                self._optimizers = self._optimizers[-1:]
                self._before, self._fed = self.count, 1
        if not self.mixed:
            self.count += 1
            return True
        kinds = set(self._optimizers)
        if len(self._optimizers) >= PHASE and len(set(self._optimizers[-PHASE:])) == 1:
            del self._optimizers[:-PHASE]
            self.mixed = False
            self.count += PHASE
            return True
        for period in range(len(kinds), len(self._optimizers) // 2 + 1):
            cycle = self._optimizers[-period:]
            if cycle == self._optimizers[-2 * period : -period] and set(cycle) == kinds:
                self._cycle, self._at = cycle, 0
                self.count = self._before + self._fed // period
                return True
        return False
