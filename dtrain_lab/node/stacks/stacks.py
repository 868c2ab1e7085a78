"""Stacks of a rank that does not answer itself: requested by a signal, read from a file."""

from __future__ import annotations

import asyncio
import os
import time

from dtrain_lab.node.stacks.side_signal import signal_beside

POLL_S = 0.02
MOST = 1 << 20


async def ask(pid: int, began: float, file: int, *signals: tuple[int, float]) -> str | None:
    """Read the stacks of all threads of a process, even while one holds the GIL.

    Args:
        pid: Id of the process.
        began: When it started, as `processes.started` returns it.
        file: Descriptor of the file that its signal handlers write to.
        signals: Tried in order, each with the seconds to wait for the first output.

    Returns:
        The stacks; empty if the process wrote nothing, None if it does not handle the signals yet.
    """
    for number, within_s in signals:
        before = os.fstat(file).st_size
        try:
            if not signal_beside(pid, began, number):
                return None
        except ProcessLookupError:
            return ""
        text = await _written(file, before, within_s)
        if text:
            return text
    return ""


async def _written(file: int, before: int, within_s: float) -> str:
    """Text appended to a file beyond a size, once the file has stopped growing."""
    until = time.monotonic() + within_s
    size = before
    while time.monotonic() < until or size > before:
        await asyncio.sleep(POLL_S)
        now = os.fstat(file).st_size
        if now > before and now == size:
            break
        size = now
    return os.pread(file, MOST, before).decode("utf-8", "replace")
