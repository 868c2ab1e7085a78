"""When the debugger has held ranks of a world: nobody is stuck while it does, or while somebody steps."""

from __future__ import annotations

import time
from collections.abc import Mapping

from msgspec.structs import replace

from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.stacks import Where


class Pauses:
    """Ranks that the debugger has paused, and when it has let the last one go."""

    def __init__(self) -> None:
        self.ranks: dict[int, str] = {}
        """Rank that is paused → the error that it has stopped at; empty for another reason."""
        self.places: dict[int, Where] = {}
        """Rank that is paused → its line, if it is in the user's code."""
        self._ended: float | None = None
        """When the last rank that was paused was let go, monotonic seconds."""

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
        if self.ranks and not ranks:
            self._ended = time.monotonic()
        self.ranks = dict(ranks)
        self.places = {rank: place for rank, place in (places or {}).items() if rank in ranks}

    def since_last_pause(self, samples: list[RankSample]) -> list[RankSample]:
        """Return samples whose time in a collective counts from the end of the last pause.

        What stood before may move by now: while a rank is stepped, each step would be called a hang at once.
        """
        if self._ended is None:
            return samples
        most = time.monotonic() - self._ended
        return [
            replace(s, in_operation_s=min(s.in_operation_s, most)) if s.in_operation_s else s for s in samples
        ]
