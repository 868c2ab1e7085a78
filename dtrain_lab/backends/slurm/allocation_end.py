"""The end of the Slurm job that this process runs in, asked of the scheduler, as it may be moved."""

from __future__ import annotations

import asyncio
import os
import time
from datetime import datetime

WITHIN_S = 20.0
TAKEN = "a job of higher priority took its nodes"
FAR_S = 2 * 366 * 86_400.0
"""A later end counts as no end: in a partition without a limit, Slurm reports an end in a year or later."""


def end_time(text: str, now: float) -> float | None:
    """Parse the time at which a job's limit ends it.

    Args:
        text: Slurm's end time, as a number or in local time; "NONE", "N/A" or "Unknown" if there is none.
        now: current time, in seconds since 1970.

    Returns:
        Seconds since 1970; None if the job has no end.
    """
    try:
        at = float(text) if text.isdigit() else datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
    return at if 0 < at - now < FAR_S else None


class AllocationEnd:
    """Implements `backends.allocation_end.AllocationEnd`, inside a Slurm job."""

    def __init__(self) -> None:
        self._job = os.environ["SLURM_JOB_ID"]
        self.at = end_time(os.environ.get("SLURM_JOB_END_TIME", ""), time.time())
        self.taken = ""

    async def poll(self) -> None:
        """Ask the scheduler once."""
        words = (await self._ask()).split()
        if words:
            self.at = end_time(words[0], time.time())
            self.taken = TAKEN if words[-1][:1].isdigit() and len(words) > 1 else ""

    async def _ask(self) -> str:
        """Output of squeue; empty if the scheduler does not answer, so that known values stay."""
        try:
            process = await asyncio.create_subprocess_exec(
                *("squeue", "--noheader", "--jobs", self._job, "--Format", "EndTime:30,PreemptTime:30"),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )
        except OSError:  # no squeue on this node
            return ""
        try:
            async with asyncio.timeout(WITHIN_S):
                out, _ = await process.communicate()
        except TimeoutError:
            process.kill()
            return ""
        return out.decode("utf-8", "replace") if process.returncode == 0 else ""
