"""How long the debugger has held ranks of a world: nobody is stuck in that time."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

from msgspec.structs import replace

from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.stacks import Where

KEPT = 100
"""Number of pauses that are remembered."""


class Pauses:
    """Ranks that the debugger has paused, and the times in which it held any."""

    def __init__(self) -> None:
        self.ranks: dict[int, str] = {}
        """Rank that is paused → the error that it has stopped at; empty for another reason."""
        self.places: dict[int, Where] = {}
        """Rank that is paused → its line, if it is in the user's code."""
        self._past: list[tuple[float, float]] = []
        """Start and end of each pause, monotonic seconds."""
        self._since: float | None = None

    @property
    def place(self) -> Where | None:
        """The line that all paused ranks have stopped at; None without one."""
        places = set(self.places.values())
        return places.pop() if len(places) == 1 and self.places.keys() == self.ranks.keys() else None

    def update(self, ranks: Mapping[int, str], places: Mapping[int, Where] | None = None) -> None:
        """Ranks have been paused or continued.

        Args:
            ranks: All ranks that are paused now, each with the error that it has stopped at, if any.
            places: The lines of these ranks, as far as they are known.
        """
        now = time.monotonic()
        if ranks and self._since is None:
            self._since = now
        elif not ranks and self._since is not None:
            self._past = [*self._past[1 - KEPT :], (self._since, now)]
            self._since = None
        self.ranks = dict(ranks)
        self.places = {rank: place for rank, place in (places or {}).items() if rank in ranks}

    def without(self, samples: list[RankSample]) -> list[RankSample]:
        """Return samples whose time in a collective excludes the time in which any rank was paused."""
        if not self._past:
            return samples
        return [
            replace(s, in_operation_s=self._unpaused(s.in_operation_s)) if s.in_operation_s else s
            for s in samples
        ]

    def _unpaused(self, seconds: float) -> float:
        now = time.monotonic()
        begun = now - seconds
        held = math.fsum(max(0.0, min(end, now) - max(begin, begun)) for begin, end in self._past)
        return max(0.0, seconds - held)
