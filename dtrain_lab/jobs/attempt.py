"""Outcome of one attempt of a job, from what its head knows about the ranks. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from dtrain_lab.wire.links import AttemptState

SILENT_S = 60.0
"""Seconds without a message after which a host counts as lost, while finished hosts wait for it."""


class RankReport(NamedTuple):
    """A rank, as its agent reports it."""

    attempt: int
    code: int | None
    """Exit code; None while it runs."""
    silent_s: float
    """Seconds since the last message of its agent."""


def attempt_state(
    ranks: Mapping[int, RankReport],
    size: int,
    attempt: int,
    waited_s: float,
    *,
    failed: bool,
    serving: frozenset[int] = frozenset(),
) -> AttemptState:
    """Tell an agent whether the attempt is over; its own ranks have succeeded, or only serve others.

    Args:
        ranks: ranks whose agents have reported.
        size: world size.
        attempt: number of the attempt that the agent asks about.
        waited_s: seconds for which the agent has been asking.
        failed: whether a rank is known to have failed in this attempt.
        serving: ranks that only serve others, and never end by themselves.

    Returns:
        "done" if all ranks but those that serve succeeded, "failed", "runs", or "unknown" if ranks are
        missing for `SILENT_S`: an agent without running ranks stops waiting then, one whose ranks still
        serve asks again, as their chief may only be late.
    """
    mine = {rank: report for rank, report in ranks.items() if report.attempt == attempt}
    if failed or any(report.code for report in mine.values()) or lost(ranks, attempt):
        return "failed"
    if len(mine) == size:
        ends = [report.code for rank, report in mine.items() if rank not in serving]
        return "done" if all(code == 0 for code in ends) else "runs"
    return "runs" if waited_s < SILENT_S else "unknown"


def lost(ranks: Mapping[int, RankReport], attempt: int) -> list[int]:
    """Return the ranks that were running when their host sent its last message, over `SILENT_S` ago.

    Args:
        ranks: What the hosts last reported, by rank.
        attempt: Number of the current attempt; ranks of others don't count.
    """
    return sorted(
        rank
        for rank, report in ranks.items()
        if report.attempt == attempt and report.code is None and report.silent_s > SILENT_S
    )
