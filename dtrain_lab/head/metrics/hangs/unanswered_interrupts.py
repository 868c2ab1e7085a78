"""Interrupts that ranks don't answer, and for how long: the world's state has no clock."""

from __future__ import annotations

import time
from collections.abc import Sequence

from dtrain_lab.metrics.verdicts import unanswered
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.verdicts import Verdict
from dtrain_lab.world import State
from dtrain_lab.world.interrupts import ABORT_AFTER_S, DEAF_AFTER_S


class UnansweredInterrupts:
    """When the ranks were interrupted that don't answer."""

    def __init__(self) -> None:
        self._since: float | None = None
        """When the first of them was, by the monotonic clock; None while every rank answers."""

    def update(self, state: State) -> None:
        """Note which ranks don't answer, known some time after the interrupt; called on each tick."""
        if not state.deaf:
            self._since = None
        elif self._since is None:
            self._since = time.monotonic() - ABORT_AFTER_S - DEAF_AFTER_S

    def verdict(self, state: State, samples: Sequence[RankSample]) -> Verdict | None:
        """Return the verdict on ranks that don't answer; None if every rank answers.

        Args:
            state: state of the world.
            samples: the latest sample of each rank.
        """
        self.update(state)
        since_s = None if self._since is None else time.monotonic() - self._since
        return unanswered.verdict(state.deaf, state.reason, samples, since_s)
