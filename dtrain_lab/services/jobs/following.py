"""Following a job's log: waits until there is something new to read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection

from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.wire.jobs.log import LogPiece

LOOK_EVERY_S = 0.05
"""Interval at which the sizes of files on this machine are read."""
FAR_EVERY_S = 1.0
"""The same on other machines, and interval at which the job's state is read."""


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
    until = time.monotonic() + within_s
    reader = await jobs.reader(name)
    read_at, sizes = time.monotonic(), await reader.log_sizes()
    piece = await reader.logs(offset=offset, ranks=ranks)
    while not (piece.lines or piece.bars or piece.end) and time.monotonic() < until:
        await asyncio.sleep(FAR_EVERY_S if reader.is_far else LOOK_EVERY_S)
        now = await reader.log_sizes()
        if time.monotonic() - read_at >= FAR_EVERY_S:  # the job may have ended
            reader, read_at = await jobs.reader(name), time.monotonic()
        elif now == sizes:
            continue
        sizes = now
        piece = await reader.logs(offset=piece.offset, ranks=ranks)
    return piece
