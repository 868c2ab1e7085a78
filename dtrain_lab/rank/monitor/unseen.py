"""Collectives that no hook sees, as those of compiled code: a step's numbers of its groups tell of them."""

from __future__ import annotations

from typing import Any

from torch.distributed import distributed_c10d as c10d

from dtrain_lab.core.estimate import ring
from dtrain_lab.rank.numbers import backends

LOWER = ring.BOUNDS.index("lower")
IN_A_ROW = 3
"""Steps. One alone may be another thread's, which does not stop training."""


class Unseen:
    """Says that a step's communication is a lower bound where more is sent than the hooks see.

    Args:
        cells: header of the ring.
    """

    def __init__(self, cells: memoryview) -> None:
        self._cells = cells
        self._backends: list[Any] = []
        self._groups = 0
        self._begun = 0
        self._steps = 0

    def begin_cell(self) -> None:
        """A cell begins; between cells a world may have been rebuilt."""
        self._cells[ring.BOUND] = 0
        self._steps = self._groups = 0
        self._look()

    def step_ended(self, known: int) -> None:
        """A step has ended.

        Args:
            known: collectives that the hooks saw, or that they know to have been any number.
        """
        before = self._begun
        if not self._look():
            return
        if self._begun - before <= known:
            self._steps = 0
            return
        self._steps += 1
        if self._steps >= IN_A_ROW:
            self._cells[ring.BOUND] = LOWER

    def _look(self) -> bool:
        """Count what was begun in all groups; False where there are others than the last time."""
        groups = c10d._world.pg_map
        same = len(groups) == self._groups
        if not same:
            self._groups = len(groups)
            found = {id(backend): backend for group in groups for backend in backends(group)}
            self._backends = list(found.values())
        self._begun = sum(int(b._get_sequence_number_for_group()) for b in self._backends)
        return same
