"""Detects collectives that no hook sees, as in compiled code, by the sequence numbers of the groups."""

from __future__ import annotations

from typing import Any

from dtrain_lab.metrics import ring
from dtrain_lab.rank.torch import groups

LOWER = ring.BOUNDS.index("lower")
IN_A_ROW = 3
"""Steps in a row with unseen collectives: in a single one they may be another thread's, which is harmless."""


class Unseen:
    """Marks communication as a lower bound where more collectives run than the hooks see.

    Args:
        cells: header of the metrics ring.
    """

    def __init__(self, cells: memoryview) -> None:
        self._cells = cells
        self._backends: list[Any] = []
        self._groups = 0
        self._begun = 0
        self._steps = 0

    def begin_cell(self) -> None:
        """Start counting again, because the world may have been rebuilt between cells."""
        self._cells[ring.BOUND] = 0
        self._steps = self._groups = 0
        self._count()

    def step_ended(self, known: int) -> bool:
        """Called when a step has ended.

        Args:
            known: collectives of the step that the hooks know of.

        Returns:
            Whether more collectives than those were begun.
        """
        before = self._begun
        if not self._count():
            return False
        if self._begun - before <= known:
            self._steps = 0
            return False
        self._steps += 1
        if self._steps >= IN_A_ROW:
            self._cells[ring.BOUND] = LOWER
        return True

    def _count(self) -> bool:
        """Count the collectives begun in all groups; False if the groups have changed since then."""
        count = groups.count_live()
        same = count == self._groups
        if not same:
            self._groups, live = count, groups.live_groups()
            found = {id(backend): backend for group in live for backend in groups.backends(group)}
            self._backends = list(found.values())
        self._begun = groups.begun(self._backends)
        return same
