"""What the scheduler says of this user's jobs: one `squeue` for all of them, and not too often."""

from __future__ import annotations

import asyncio
import os
import time
from datetime import datetime

from msgspec import Struct

from dtrain_lab.backends.transport import Transport
from dtrain_lab.core import slurm
from dtrain_lab.errors import Unreachable

FLOOR_S = 30.0
SLOWEST_S = 120.0


class Job(Struct, frozen=True):
    """A line of `squeue`. `expected_at`: when it may start, where the scheduler knows."""

    id: str
    state: str
    reason: str
    nodes: str
    comment: str
    expected_at: float | None = None


class Queue:
    """The jobs of this user on one cluster.

    Args:
        transport: to where the scheduler is asked.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._jobs: dict[str, Job] = {}
        self._pending: list[str] = []
        """All users' jobs that wait, as the scheduler would start them; empty where that is not shown."""
        self._at = 0.0
        self._every = floor_s()
        self._asking: asyncio.Task[None] | None = None

    async def job(self, identity: str, *, fresh: bool = False) -> Job | None:
        """A job, as it was when the scheduler was last asked; None where it knows of none.

        Args:
            identity: the scheduler's.
            fresh: ask now: something has just been done.
        """
        if fresh or time.monotonic() - self._at > self._every:
            if self._asking is None or self._asking.done():
                self._asking = asyncio.create_task(self._ask())
            await asyncio.shield(self._asking)
        return self._jobs.get(identity)

    async def by_comment(self, comment: str) -> Job | None:
        """A job by the comment that it was submitted with."""
        await self.job("", fresh=True)
        return next((j for j in self._jobs.values() if j.comment == comment), None)

    def ahead(self, identity: str) -> int | None:
        """Pending jobs that the scheduler would start before; None where that is not shown."""
        return self._pending.index(identity) if identity in self._pending else None

    async def _ask(self) -> None:
        done = await self._transport.run(["squeue", "--me", "-h", "-t", "all", "-o", slurm.SQUEUE])
        self._at = time.monotonic()
        if done.code:
            self._every = min(SLOWEST_S, self._every * 2)
            raise Unreachable(
                f"Slurm does not answer: {slurm.said(done.err)}.", "It is asked again by itself."
            )
        self._every = floor_s()
        self._jobs = {}
        for line in done.out.decode("utf-8", "replace").splitlines():
            parts = line.split("|", 5)
            if len(parts) == 6:
                identity, state, reason, start, nodes, comment = parts
                self._jobs[identity] = Job(identity, state, reason, nodes, comment.strip(), _time(start))
        if any(job.state == "PENDING" for job in self._jobs.values()):
            words = ["squeue", "-h", "-t", "pending", "--sort=-p,i", "-o", "%i"]
            done = await self._transport.run(words)
            self._pending = done.out.decode().split() if done.code == 0 else []


def floor_s() -> float:
    """Seconds between two questions; the administrator may set more."""
    return max(float(os.environ.get("DTRAIN_LAB_POLL_FLOOR_S", FLOOR_S)), 0.2)


def _time(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:  # "N/A"
        return None
