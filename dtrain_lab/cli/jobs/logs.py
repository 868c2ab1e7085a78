"""Reads a job's log for the terminal, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator

from dtrain_lab.api.portal import Portal
from dtrain_lab.cells import rank_sets
from dtrain_lab.services.jobs import following
from dtrain_lab.services.jobs.log import CurrentBars
from dtrain_lab.wire.jobs.log import Log, LogPiece


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
    bars = CurrentBars()
    pieces = following.pieces(portal.jobs, info.id, ranks=wanted, within_s=None if follow else 0)

    async def following_piece() -> LogPiece | None:
        return await anext(pieces, None)

    while (piece := portal.call(following_piece())) is not None:
        bars.take(piece)
        yield from piece.lines
    yield from bars.lines()
