"""When a scheduler ends this world: asked inside its job, now and then, as a limit may be raised."""

from __future__ import annotations

import asyncio
import os
import time

from dtrain_lab.core import slurm

AGAIN_S = 600.0
WITHIN_S = 20.0


class Limit:
    """The end of the allocation that this process runs in.

    `at`: seconds since 1970; None outside of one, or where it has no end.
    """

    def __init__(self) -> None:
        self.at: float | None = None
        self._job = os.environ.get("SLURM_JOB_ID")

    async def watch(self) -> None:
        """Ask until the world ends."""
        if self._job is None:
            return
        self.at = slurm.end_time(os.environ.get("SLURM_JOB_END_TIME", ""), time.time())
        while True:
            said = await self._ask(self._job)
            if said is not None:
                self.at = slurm.end_time(said, time.time())
            await asyncio.sleep(AGAIN_S)

    async def _ask(self, job: str) -> str | None:
        """None where the scheduler does not answer: what was known holds."""
        try:
            process = await asyncio.create_subprocess_exec(
                *("squeue", "--noheader", "--jobs", job, "--Format", "EndTime:30"),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )
        except OSError:  # no such command on this node
            return None
        try:
            async with asyncio.timeout(WITHIN_S):
                out, _ = await process.communicate()
        except TimeoutError:
            process.kill()
            return None
        return out.decode("utf-8", "replace").strip() if process.returncode == 0 else None
