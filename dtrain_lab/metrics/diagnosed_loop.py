"""Tracks which cell trains, and keeps the diagnosis of its loop. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

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


def alike(first: float, other: float, ratio: float = OTHER) -> bool:
    """Whether two step times, in seconds, may belong to the same loop.

    Args:
        first: A step time in seconds.
        other: The other one.
        ratio: From which they do not.
    """
    return first / ratio < other < first * ratio


class _Cell(Struct):
    """A user's cell, with what is known of the steps that its ranks had taken before it."""

    code: str
    where: Where | None
    ranks: frozenset[int]
    began_at: float
    steps: dict[int, int]
    """Rank → its number of steps at the cell's begin, or soon after; missing while it is not known."""
    replied: dict[int, int]
    """Rank → number of steps that it reported at the end of its cell before this one."""


class Loops:
    """Tracks which cell trains, and keeps the diagnosis of its code until another cell trains.

    Cells on disjoint ranks run at the same time: steps are those of the cell that runs on their rank.
    """

    def __init__(self) -> None:
        self.trained = False
        """Whether the last cell of a user has taken steps, or one beside it that still runs."""
        self._cells: dict[int, _Cell] = {}
        """The last cell of a user on each rank."""
        self._running: set[int] = set()
        """Ranks that have not ended that cell."""
        self._measuring: set[int] = set()
        """Ranks that have run a diagnosis, or a view's call, since that cell."""
        self._rested: set[int] = set()
        """Ranks whose last known number of steps was read after their last cell, or is 0."""
        self._training: _Cell | None = None
        """The cell that trains, or trained last."""
        self.number = 0
        """How many cells have trained."""
        self._moved_at = 0.0
        self._counts: dict[int, int] = {}
        """Last known number of steps of each rank."""
        self._diagnosis: tuple[str, int, Diagnosis] | None = None
        """The loop's code, the number of its ranks, and its diagnosis."""
        self._step_s: float | None = None
        """Time of its step when it was diagnosed, seconds."""
        self._replied: dict[int, int] = {}
        """Number of steps that each rank reported at the end of its last cell."""

    @property
    def trains(self) -> bool:
        """Whether a running cell has taken steps."""
        return self.trained and not self.measures and self._goes_on

    @property
    def measures(self) -> bool:
        """Whether a diagnosis runs, or ran after the cell that trained: its steps are not the user's."""
        if self._training is None:
            return bool(self._measuring)
        return not self._measuring.isdisjoint(self._training.ranks)

    @property
    def where(self) -> Where | None:
        """The cell that trains, or trained last."""
        return self._training.where if self._training is not None else None

    @property
    def _goes_on(self) -> bool:
        """Whether the cell that trains, or trained last, still runs on some of its ranks."""
        cell = self._training
        return cell is not None and any(self._cells[rank] is cell for rank in self._running)

    def begun(self, code: str, ranks: Collection[int], now: float, where: Where | None = None) -> None:
        """Called when a cell begins.

        Args:
            code: code of the cell; empty for a diagnosis, whose steps are not the user's.
            ranks: its ranks.
            now: time, seconds.
            where: the cell.
        """
        if not code:
            self._measuring |= set(ranks)
            return  # samples of a loop that has just ended may still be under way
        self._measuring -= set(ranks)
        counts = {rank: self._counts[rank] for rank in ranks if rank in self._rested and rank in self._counts}
        before = {rank: self._replied[rank] for rank in ranks if rank in self._replied}
        self._cells.update(dict.fromkeys(ranks, _Cell(code, where, frozenset(ranks), now, counts, before)))
        self._running |= set(ranks)
        self.trained = self.trained and self._goes_on

    def sampled(self, steps: Mapping[int, int], now: float, idle: Collection[int] = ()) -> None:
        """Called with the numbers of steps that ranks have taken since their start.

        Args:
            steps: number of steps by rank.
            now: time, seconds.
            idle: ranks that ran no cell then.
        """
        # a sample may be older than a reply
        steps = {rank: max(count, self._replied.get(rank, 0)) for rank, count in steps.items()}
        moved = {rank for rank, count in steps.items() if count > self._counts.get(rank, count)}
        self._counts.update(steps)
        rested = {rank for rank, count in steps.items() if rank in idle or not count}
        self._rested = (self._rested - steps.keys()) | rested
        if not (self.trained and self._goes_on):
            self._look_for_training(steps, now)
        if self._training is not None and not moved.isdisjoint(self._training.ranks):
            self._moved_at = now

    def _look_for_training(self, steps: Mapping[int, int], now: float) -> None:
        for rank in steps.keys() & self._running:
            cell = self._cells[rank]
            before = cell.steps.get(rank)
            # a short loop has ended before a second sample: its steps are seen only beside those before it
            if before is None and now - cell.began_at >= LATE_S:
                cell.steps[rank] = steps[rank]
            elif before is not None and steps[rank] > before:
                self._note_training(cell)

    def replied(self, rank: int, steps: int) -> None:
        """Called when a rank has ended its cell, which may have been too short for any sample.

        Args:
            rank: the rank.
            steps: number of steps that it has taken since its start.
        """
        self._counts[rank] = self._replied[rank] = steps
        self._rested.add(rank)
        if rank in self._running:  # else it was a diagnosis
            cell = self._cells[rank]
            if steps > cell.replied.get(rank, 0):
                self._note_training(cell)
            self._running.discard(rank)

    def forget(self, rank: int) -> None:
        """A rank's process is gone: the next one counts from 0."""
        for by_rank in (self._counts, self._replied, self._cells):
            by_rank.pop(rank, None)
        self._rested.discard(rank)
        self._running.discard(rank)

    def ahead_of(self, samples: Iterable[RankSample]) -> bool:
        """Whether a rank has ended its last cell with more steps than its latest sample has."""
        return any(self._replied.get(sample.rank, 0) > (sample.step or 0) for sample in samples)

    def _note_training(self, cell: _Cell) -> None:
        if not (self.trained and self._goes_on):  # of two that train at the same time, the first is named
            self.number += self._training is not cell
            self.trained, self._training = True, cell

    @property
    def code(self) -> str:
        """Code of the loop that trains, or trained last; empty before any."""
        return self._training.code if self._training is not None else ""

    def moves(self, step_s: float | None, now: float) -> bool:
        """Whether training takes steps now, that is, whether the next step is not overdue.

        Args:
            step_s: usual time of a step, seconds.
            now: time, seconds.
        """
        return self.trains and now - self._moved_at < max(OVERDUE_S, OVERDUE_STEPS * (step_s or 0.0))

    def diagnosed(self, diagnosis: Diagnosis, size: int, step_s: float | None) -> None:
        """Keep a diagnosis of the loop that trained last.

        Args:
            diagnosis: the diagnosis; one of a running loop is ignored.
            size: number of ranks that were measured.
            step_s: time of the loop's step, seconds; None if unknown.
        """
        if diagnosis.source == "replayed" and self.code:
            self._diagnosis, self._step_s = (self.code, size, diagnosis), step_s

    def steps_take(self, step_s: float) -> None:
        """Drop the diagnosis if the step time has changed: another cell may have created another model.

        Args:
            step_s: time of a step of the loop that trains, seconds.
        """
        diagnosed_s = self._step_s
        same = self._diagnosis is not None and self._diagnosis[0] == self.code
        if same and diagnosed_s is not None and not alike(diagnosed_s, step_s):
            self._diagnosis = self._step_s = None

    def measured(self, size: int) -> Diagnosis | None:
        """The diagnosis of the loop that trains or trained last, on `size` ranks; None without one."""
        if self._diagnosis is None:
            return None
        loop, ranks, diagnosis = self._diagnosis
        return diagnosis if loop == self.code and ranks == size else None
