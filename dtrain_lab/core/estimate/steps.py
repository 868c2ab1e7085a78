"""Step boundaries without user code: the smallest repeating cycle of optimizers.

One optimizer: each of its steps is a training step. Several (a GAN, one per layer): the training step is
the shortest sequence of them that repeats and contains all.
"""

from __future__ import annotations

KEPT = 128
PHASE = 24
"""So many steps of one optimizer in a row, after others: training goes on with that one alone."""


class StepCycle:
    """Feed it each optimizer step; it says where a training step ends."""

    def __init__(self) -> None:
        self._seen: list[int] = []
        self._cycle: list[int] | None = None
        self._at = 0
        self._mixed = False
        """More than one optimizer among those seen."""
        self._before = 0
        """Training steps of former cycles."""
        self._fed = 0
        """Optimizer steps since then."""
        self.count = 0
        """Training steps so far. Once a cycle is known, those before it are counted by it."""

    @property
    def unsure(self) -> bool:
        """Several optimizers, and no repeating cycle yet."""
        return self._cycle is None and self._mixed

    def ends(self, optimizer: int) -> bool:
        """An optimizer (told apart by its id) has stepped. Is the training step over?"""
        self._seen.append(optimizer)
        self._fed += 1
        del self._seen[:-KEPT]
        if self._cycle is not None:
            if self._cycle[self._at] == optimizer:
                self._at = (self._at + 1) % len(self._cycle)
                self.count += self._at == 0
                return self._at == 0
            self._cycle = None
            self._seen = self._seen[-1:]
            self._mixed = False
            self._before, self._fed = self.count, 1
        self._mixed = self._mixed or (len(self._seen) > 1 and self._seen[-2] != optimizer)
        if not self._mixed:
            self.count += 1
            return True
        kinds = set(self._seen)
        if len(self._seen) >= PHASE and len(set(self._seen[-PHASE:])) == 1:
            del self._seen[:-PHASE]
            self._mixed = False
            self.count += PHASE
            return True
        for period in range(len(kinds), len(self._seen) // 2 + 1):
            cycle = self._seen[-period:]
            if cycle == self._seen[-2 * period : -period] and set(cycle) == kinds:
                self._cycle, self._at = cycle, 0
                self.count = self._before + self._fed // period
                return True
        return False
