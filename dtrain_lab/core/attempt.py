"""How one attempt of a job stands, as its head sees the ranks. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

SILENT_S = 60.0
"""A host that says nothing for so long, while others are done and wait for it, is gone."""
Stand = Literal["runs", "done", "failed", "unknown"]


class RankSeen(NamedTuple):
    """A rank, as its agent tells of it."""

    attempt: int
    code: int | None
    """None while it runs."""
    silent_s: float
    """Since its agent was last heard of."""


def stand(ranks: Mapping[int, RankSeen], size: int, attempt: int, waited_s: float, *, failed: bool) -> Stand:
    """Whether an attempt is over, for an agent whose own ranks have ended well.

    Args:
        ranks: those whose agents have been heard of.
        size: ranks in all.
        attempt: which one is asked about.
        waited_s: how long the agent has been asking.
        failed: a rank is known to have failed in this attempt.
    """
    mine = {rank: seen for rank, seen in ranks.items() if seen.attempt == attempt}
    if failed or any(seen.code for seen in mine.values()) or lost(ranks, attempt):
        return "failed"
    if len(mine) == size:
        return "done" if all(seen.code == 0 for seen in mine.values()) else "runs"
    return "runs" if waited_s < SILENT_S else "unknown"


def lost(ranks: Mapping[int, RankSeen], attempt: int) -> list[int]:
    """Ranks that still ran when their host was last heard of, long ago."""
    return sorted(
        rank
        for rank, seen in ranks.items()
        if seen.attempt == attempt and seen.code is None and seen.silent_s > SILENT_S
    )
