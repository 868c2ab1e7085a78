"""Detects collectives that no hook sees, as in compiled code, by the sequence numbers of the groups."""

from __future__ import annotations

from collections.abc import Callable

from dtrain_lab.metrics import ring
from dtrain_lab.rank.torch import group_backends, groups

LOWER = ring.BOUNDS.index("lower")
IN_A_ROW = 3
"""Steps in a row with unseen collectives: in a single one they may be another thread's, which is harmless."""


class UnseenCollectives:
    """Marks communication as a lower bound where more collectives run than the hooks see.

    Args:
        cells: header of the metrics ring.
    """

    def __init__(self, cells: memoryview) -> None:
        self._cells = cells
        self._registry = groups.registry()
        self._count: Callable[[], int] = int
        """Returns the number of collectives begun in all groups."""
        self._groups = 0
        self._begun = 0
        self._steps = 0

    def begin_cell(self) -> None:
        """Start counting again, because the world may have been rebuilt between cells."""
        self._cells[ring.BOUND] = 0
        self._steps = 0
        self._look()

    def step_ended(self, hooked: int) -> bool:
        """Called when a step has ended.

        Args:
            hooked: collectives of the step that the hooks know of.

        Returns:
            Whether more collectives than those were begun.
        """
        if len(self._registry) != self._groups:
            self._look()
            return False
        before = self._begun
        self._begun = self._count()
        if self._begun - before <= hooked:
            self._steps = 0
            return False
        self._steps += 1
        if self._steps >= IN_A_ROW:
            self._cells[ring.BOUND] = LOWER
        return True

    def _look(self) -> None:
        """Find the back-ends of the groups that there are now, and count their collectives."""
        self._registry = groups.registry()
        self._groups, live = len(self._registry), groups.live_groups()
        by_id = {id(backend): backend for group in live for backend in group_backends.backends(group)}
        self._count = group_backends.counter(list(by_id.values()))
        self._begun = self._count()
