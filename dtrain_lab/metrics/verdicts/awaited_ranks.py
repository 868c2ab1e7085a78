"""Ranks that others wait for: where they are and what they do, by their stacks. Pure."""

from __future__ import annotations

from dtrain_lab.wire.stacks import Where


class AwaitedRanks:
    """Ranks that others wait for, as their stacks were read last."""

    def __init__(self) -> None:
        self.locations: dict[int, Where] = {}
        """Rank → where it is in the user's code."""
        self.source_lines: dict[int, str] = {}
        """Rank → the source of the user's own line that it is in."""
        self.activities: dict[int, str] = {}
        """Rank → what it does."""

    def found(self, rank: int, activity: str, place: tuple[Where, str] | None) -> None:
        """The stack of a rank was read.

        Args:
            rank: Number of the rank.
            activity: What it does.
            place: Its location in the user's code, and the source there; None outside of that code.
        """
        self.forget(rank)
        self.activities[rank] = activity
        if place is not None:
            self.locations[rank], self.source_lines[rank] = place

    def forget(self, rank: int) -> None:
        """Drop what is known of a rank: its cell or its process is another one now."""
        for known in (self.locations, self.source_lines, self.activities):
            known.pop(rank, None)

    def clear(self) -> None:
        """Drop all: nobody waits any more."""
        for known in (self.locations, self.source_lines, self.activities):
            known.clear()
