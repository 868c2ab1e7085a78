"""The scheduler's time limit of this world, asked from inside its job; repeatedly, as it may be raised."""

from __future__ import annotations

import asyncio
import os
import time

from dtrain_lab.placement import slurm

AGAIN_S = 600.0
WITHIN_S = 20.0
TAKEN = "a job of higher priority took its nodes"


class Limit:
    """The end of the allocation that this process runs in.

    `at`: seconds since 1970; None outside an allocation, or without a time limit. `taken`: why the allocation
    ends sooner; empty if it does not.
    """

    def __init__(self) -> None:
        self.at: float | None = None
        self.taken = ""
        self._sooner = asyncio.Event()
        self._job = os.environ.get("SLURM_JOB_ID")

    async def watch(self) -> None:
        """Ask every `AGAIN_S` seconds until the world ends."""
        if self._job is None:
            return
        self.at = slurm.end_time(os.environ.get("SLURM_JOB_END_TIME", ""), time.time())
        while True:
            await self.poll()
            self._sooner.clear()
            try:
                async with asyncio.timeout(AGAIN_S):
                    await self._sooner.wait()
            except TimeoutError:  # the limit may have been raised
                pass

    def warned(self) -> None:
        """The scheduler has signalled that the end is near: ask now."""
        self._sooner.set()

    async def poll(self) -> None:
        """Ask the scheduler once."""
        said = (await self._ask(self._job)).split() if self._job is not None else []
        if said:
            self.at = slurm.end_time(said[0], time.time())
            self.taken = TAKEN if said[-1][:1].isdigit() and len(said) > 1 else ""

    async def _ask(self, job: str) -> str:
        """Output of squeue; empty if the scheduler does not answer, so that known values stay."""
        try:
            process = await asyncio.create_subprocess_exec(
                *("squeue", "--noheader", "--jobs", job, "--Format", "EndTime:30,PreemptTime:30"),
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
