"""Decides whether ranks have kept pace for long enough to say so. Pure: callers pass the time."""

from __future__ import annotations

from collections import deque

from dtrain_lab.metrics.verdicts.hysteresis import USUAL
from dtrain_lab.text import rank_names


def headline(count: int, *, even: bool) -> tuple[str, str]:
    """Summary that ranks train, and that they keep pace if that was observed for long enough.

    Args:
        count: number of ranks that train.
        even: whether they keep pace.

    Returns:
        The code and the text of a summary.
    """
    if count == 1 or not even:
        return "training_begun", f"Training on {rank_names.count(count)}."
    who = "Both" if count == 2 else f"All {count:,}"
    return "training", f"Training. {who} ranks keep pace."


class Pace:
    """Decides whether a headline may say that all ranks keep pace, by the same rule as for verdicts."""

    def __init__(self) -> None:
        self._evaluations: deque[tuple[float, bool]] = deque()
        self._steady = False

    @property
    def steady(self) -> bool:
        """Whether the ranks have kept pace for long enough."""
        return self._steady

    def forget(self) -> None:
        """Forget everything, because nothing trains any more, or something else."""
        self._evaluations.clear()
        self._steady = False

    def update(self, even: bool, now: float) -> None:
        """Add an evaluation of enough steps.

        Args:
            even: whether it found no slow rank and no waiting for data.
            now: time of a monotonic clock, seconds.
        """
        self._evaluations.append((now, even))
        while len(self._evaluations) > 1 and self._evaluations[1][0] <= now - USUAL.leave_s:
            self._evaluations.popleft()
        evaluated_s = now - self._evaluations[0][0]
        if self._steady:
            self._steady = evaluated_s < USUAL.leave_s or self._share(now - USUAL.leave_s) > USUAL.leave
        else:
            self._steady = evaluated_s >= USUAL.enter_s and self._share(now - USUAL.enter_s) >= USUAL.enter

    def _share(self, since: float) -> float:
        evaluations = [even for at, even in self._evaluations if at >= since]
        return sum(evaluations) / len(evaluations)
