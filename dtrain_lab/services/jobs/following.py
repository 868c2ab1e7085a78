"""Following a job's log: reads it in pieces, and waits until there is something new to read."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing

from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.services.jobs.log import START
from dtrain_lab.wire.jobs.log import LogPiece

LOOK_EVERY_S = 0.05
"""Interval at which the sizes of files on this machine are read."""
FAR_EVERY_S = 1.0
"""Interval at which files on other machines are read, and the job's state."""


async def pieces(
    jobs: Jobs,
    name: str,
    *,
    offset: str = START,
    ranks: Collection[int] | None = None,
    within_s: float | None = None,
) -> AsyncGenerator[LogPiece, None]:
    """Yield a job's log in pieces: first what it has, then what is added, until the job's end.

    A piece has no lines where nothing was added for a while, or only lines of other ranks.

    Args:
        jobs: Jobs of this user.
        name: Name or id of the job.
        offset: "start", "end", or the offset that a previous piece returned.
        ranks: Ranks whose lines are returned; None for all.
        within_s: Maximum time to wait for what is added, in seconds; 0 for what the log has now, None for no
            limit.

    Raises:
        NotFound: There is no such job.
        BadRequest: The offset is invalid.
    """
    until = math.inf if within_s is None else time.monotonic() + within_s
    reader, read_at = await jobs.reader(name), time.monotonic()
    sizes: tuple[int, ...] | None = None
    while True:
        piece = await reader.logs(offset=offset, ranks=ranks)
        yield piece
        waits, offset = piece.offset == offset, piece.offset
        if waits and (piece.end or time.monotonic() >= until):
            return
        while waits:
            await asyncio.sleep(FAR_EVERY_S if reader.is_far else LOOK_EVERY_S)
            if time.monotonic() - read_at >= FAR_EVERY_S:  # the job may have ended
                reader, read_at = await jobs.reader(name), time.monotonic()
                break
            # read before the lines: what is added in between changes them again
            before, sizes = sizes, await reader.log_sizes()
            waits = sizes == before and time.monotonic() < until


async def next_piece(
    jobs: Jobs, name: str, offset: str, ranks: Collection[int] | None, *, within_s: float
) -> LogPiece:
    """Read a piece of a log; where nothing is new, wait for the next line, state of a bar, or the job's end.

    Args:
        jobs: Jobs of this user.
        name: Name or id of the job.
        offset: "start", "end", or the offset that the previous piece returned.
        ranks: Ranks whose lines are returned; None for all.
        within_s: Maximum time to wait, in seconds; the piece then has no lines.
    """
    async with aclosing(pieces(jobs, name, offset=offset, ranks=ranks, within_s=within_s)) as read:
        async for piece in read:
            if piece.lines or piece.bars or piece.end:
                break
    return piece
