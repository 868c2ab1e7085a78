"""Reads a job's log for the terminal, piece by piece."""

from __future__ import annotations

import time
from collections.abc import Iterator

from dtrain_lab.api.portal import Portal
from dtrain_lab.cells import rank_sets
from dtrain_lab.services.jobs.log import START, CurrentBars
from dtrain_lab.wire.jobs.log import Log

FOLLOW_S = 0.3


def lines(portal: Portal, identity: str, rank: str | None, *, follow: bool) -> Iterator[Log]:
    """Yield the lines of a job's log, and at the end the present state of progress bars.

    Args:
        portal: The terminal's portal.
        identity: Id or name of the job.
        rank: Its ranks, as "0,2-3"; None for all.
        follow: Wait for more lines until the job has ended.
    """
    info = portal.call(portal.jobs.job(identity))
    wanted = None if rank is None else rank_sets.parse(rank, info.world.size)
    offset, bars = START, CurrentBars()
    while True:
        reader = portal.call(portal.jobs.reader(info.id))
        piece = portal.call(reader.logs(offset=offset, ranks=wanted))
        bars.take(piece)
        yield from piece.lines
        moved = piece.offset != offset
        offset = piece.offset
        if not moved and (piece.end or not follow):
            break
        if not moved:
            time.sleep(FOLLOW_S)
    yield from bars.lines()
