"""Tracks which cell trains, and keeps the diagnosis of its loop. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.diagnosis import Diagnosis
from dtrain_lab.wire.stacks import Where

LATE_S = 0.6
"""Time after a cell's begin in which samples of the previous cell may still arrive, seconds."""
OVERDUE_S = 5.0
OVERDUE_STEPS = 4.0
"""A step that takes longer than both, in seconds and in usual steps, means that training has stopped."""


OTHER = 1.5
"""Ratio of step times from which a loop of the same code counts as another loop."""


def alike(one: float, other: float) -> bool:
    """Whether two step times, in seconds, may belong to the same loop.

    Args:
        one: A step time in seconds.
        other: The other one.
    """
    return one / OTHER < other < one * OTHER


class Loops:
    """Tracks which cell trains, and keeps the diagnosis of its code until another cell trains."""

    def __init__(self) -> None:
        self.trained = False
        """Whether the last cell of a user has taken steps."""
        self.measures = False
        """Whether a diagnosis runs, or ran after that cell: its steps are not the user's."""
        self._rested: set[int] = set()
        """Ranks whose last known number of steps was read after their last cell, or is 0."""
        self._exact = False
        """Whether each rank's number of steps at the cell's begin is known."""
        self._running = self._loop = ""
        self._began_at = self._moved_at = 0.0
        self._steps: dict[int, int] | None = None
        self._counts: dict[int, int] = {}
        """Last known number of steps of each rank."""
        self._found: tuple[str, int, Diagnosis] | None = None
        """The loop's code, the number of its ranks, and its diagnosis."""
        self._step_s: float | None = None
        """Time of its step when it was diagnosed, seconds."""
        self._replied: dict[int, int] = {}
        """Number of steps that each rank reported at the end of its last cell."""
        self._before: dict[int, int] = {}
        """The same before the last cell of a user."""
        self._running_at: Where | None = None
        self.where: Where | None = None
        """The cell that trains, or trained last."""

    @property
    def trains(self) -> bool:
        """Whether the running cell has taken steps."""
        return self.trained and not self.measures

    def begun(self, code: str, now: float, where: Where | None = None) -> None:
        """Called when a cell begins.

        Args:
            code: code of the cell; empty for a diagnosis, whose steps are not the user's.
            now: time, seconds.
            where: the cell.
        """
        self.measures = not code
        if self.measures:
            return  # samples of a loop that has just ended may still be under way
        self.trained = False
        self._running, self._running_at, self._before = code, where, dict(self._replied)
        self._exact = bool(self._counts) and self._rested >= self._counts.keys()
        self._began_at, self._steps = now, dict(self._counts) if self._exact else None

    def sampled(self, steps: dict[int, int], now: float, idle: Collection[int] = ()) -> None:
        """Called with the numbers of steps that ranks have taken since their start.

        Args:
            steps: number of steps by rank.
            now: time, seconds.
            idle: ranks that ran no cell then.
        """
        # a sample may be older than a reply
        steps = {rank: max(count, self._replied.get(rank, 0)) for rank, count in steps.items()}
        if any(count > self._counts.get(rank, count) for rank, count in steps.items()):
            self._moved_at = now
        self._counts.update(steps)
        rested = {rank for rank, count in steps.items() if rank in idle or not count}
        self._rested = (self._rested - steps.keys()) | rested
        # a short loop has ended before a second sample: its steps are seen only beside those before it
        early = not self._exact and now - self._began_at < LATE_S
        if self.trained or not self._running or early:
            return
        if self._steps is None:
            self._steps = {}
        if any(count > self._steps.get(rank, count) for rank, count in steps.items()):
            self._note_training()
        for rank, count in steps.items():
            self._steps.setdefault(rank, count)

    def replied(self, rank: int, steps: int) -> None:
        """Called when a rank has ended its cell, which may have been too short for any sample.

        Args:
            rank: the rank.
            steps: number of steps that it has taken since its start.
        """
        self._counts[rank] = self._replied[rank] = steps
        self._rested.add(rank)
        if self._running and not self.measures and steps > self._before.get(rank, 0):
            self._note_training()

    def forget(self, rank: int) -> None:
        """A rank's process is gone: the next one counts from 0."""
        for counts in (self._counts, self._replied, self._before):
            counts.pop(rank, None)
        self._rested.discard(rank)

    def ahead_of(self, samples: Iterable[RankSample]) -> bool:
        """Whether a rank has ended its last cell with more steps than its latest sample has."""
        return any(self._replied.get(sample.rank, 0) > (sample.step or 0) for sample in samples)

    def _note_training(self) -> None:
        self.trained, self._loop, self.where = True, self._running, self._running_at

    @property
    def code(self) -> str:
        """Code of the loop that trains, or trained last."""
        return self._loop

    def moves(self, step_s: float | None, now: float) -> bool:
        """Whether training takes steps now, that is, whether the next step is not overdue.

        Args:
            step_s: usual time of a step, seconds.
            now: time, seconds.
        """
        return self.trains and now - self._moved_at < max(OVERDUE_S, OVERDUE_STEPS * (step_s or 0.0))

    def diagnosed(self, found: Diagnosis, size: int, step_s: float | None) -> None:
        """Keep a diagnosis of the loop that trained last.

        Args:
            found: the diagnosis; one of a running loop is ignored.
            size: number of ranks that were measured.
            step_s: time of the loop's step, seconds; None if unknown.
        """
        if found.source == "replayed" and self._loop:
            self._found, self._step_s = (self._loop, size, found), step_s

    def steps_take(self, step_s: float) -> None:
        """Drop the diagnosis if the step time has changed: another cell may have created another model.

        Args:
            step_s: time of a step of the loop that trains, seconds.
        """
        known = self._step_s
        same = self._found is not None and self._found[0] == self._loop
        if same and known is not None and not alike(known, step_s):
            self._found = self._step_s = None

    def measured(self, size: int) -> Diagnosis | None:
        """The diagnosis of the loop that trains or trained last, on `size` ranks; None without one."""
        if self._found is None:
            return None
        loop, ranks, found = self._found
        return found if loop == self._loop and ranks == size else None
