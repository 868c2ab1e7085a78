"""This user's jobs in Slurm's queue: one rate-limited `squeue` for all of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import datetime

from msgspec import Struct

from dtrain_lab.backends.hosts.base import Transport
from dtrain_lab.backends.slurm import partitions, reasons
from dtrain_lab.errors import Unreachable

HURRY_S = 20.0
"""Duration of faster polling after a submission or cancellation."""
HURRIED_S = 1.0
SLOWEST_S = 120.0
LEAST_S = 0.2


class Job(Struct, frozen=True):
    """A line of `squeue`. `expected_at`: expected start time, if the scheduler knows it."""

    id: str
    state: str
    reason: str
    nodes: str
    comment: str
    expected_at: float | None = None

    @property
    def is_over(self) -> bool:
        """Whether it has ended, and does not run again."""
        return self.state.split()[0] in reasons.ENDED


class Queue:
    """This user's jobs on one Slurm cluster.

    Args:
        transport: Transport to Slurm's commands.
        floor_s: Returns the fewest seconds between two queries; an administrator may change it.
    """

    def __init__(self, transport: Transport, floor_s: Callable[[], float]) -> None:
        self._transport = transport
        self._floor_s = floor_s
        self._jobs: dict[str, Job] = {}
        self._pending: list[str] = []
        """All users' pending jobs in the order of their start; empty if the site hides other users' jobs."""
        self._at = 0.0
        self._hurry_until = 0.0
        self._every = self._floor()
        self._asking: asyncio.Task[None] | None = None
        """The query that runs, or was the last one."""
        self._next: asyncio.Task[None] | None = None
        """The query that begins after that one, if somebody needs a fresh one."""

    def hurry(self) -> None:
        """Poll faster for a while after an action, so that its effect shows soon."""
        self._at = 0.0
        self._hurry_until = time.monotonic() + HURRY_S

    async def job(self, identity: str, *, fresh: bool = False) -> Job | None:
        """Return a job as of the last query; None if the scheduler does not know it.

        Args:
            identity: Slurm's job number.
            fresh: As of a query that begins after this call, because of an action just done.

        Raises:
            Unreachable: The scheduler does not answer.
        """
        now = time.monotonic()
        every = min(self._every, HURRIED_S) if now < self._hurry_until else self._every
        if fresh or now - self._at > every:
            await asyncio.shield(self._query(fresh=fresh))
        return self._jobs.get(identity)

    async def by_comment(self, comment: str, *, fresh: bool = True) -> Job | None:
        """Return the job that was submitted with a comment.

        Args:
            comment: The comment.
            fresh: As of a query that begins after this call; otherwise as of the last one.

        Raises:
            Unreachable: The scheduler does not answer.
        """
        await self.job("", fresh=fresh)
        return next((j for j in self._jobs.values() if j.comment == comment), None)

    def ahead(self, identity: str) -> int | None:
        """Return the number of pending jobs that start before this one; None if the site hides them."""
        return self._pending.index(identity) if identity in self._pending else None

    def _query(self, *, fresh: bool) -> asyncio.Task[None]:
        """Return a query to wait for, which all who ask share; a fresh one has not begun yet."""
        idle = self._asking is None or self._asking.done()
        if self._next is not None and not self._next.done() and (fresh or idle):
            return self._next
        if self._asking is None or idle:
            self._asking = asyncio.create_task(self._ask())
            return self._asking
        if not fresh:
            return self._asking
        self._next = asyncio.create_task(self._ask_after(self._asking))
        return self._next

    async def _ask_after(self, before: asyncio.Task[None]) -> None:
        await asyncio.wait({before})
        self._asking, self._next = self._next, None
        await self._ask()

    async def _ask(self) -> None:
        # seconds since 1970: a login node's local time may not be this machine's
        command = [
            "env",
            "SLURM_TIME_FORMAT=%s",
            "squeue",
            "--me",
            "-h",
            "-t",
            "all",
            "-o",
            partitions.SQUEUE,
        ]
        done = await self._transport.run(command)
        self._at = time.monotonic()
        if done.code:
            self._every = min(SLOWEST_S, self._every * 2)
            raise Unreachable(
                f"Slurm does not answer: {reasons.last_line(done.err)}.", "dtrain-lab keeps asking."
            )
        self._every = self._floor()
        self._jobs = {}
        for line in done.out.decode("utf-8", "replace").splitlines():
            parts = line.split("|", 5)
            if len(parts) == 6:
                identity, state, reason, start, nodes, comment = parts
                self._jobs[identity] = Job(identity, state, reason, nodes, comment.strip(), _time(start))
        if any(job.state == "PENDING" for job in self._jobs.values()):
            command = ["squeue", "-h", "-t", "pending", "--sort=-p,i", "-o", "%i"]
            done = await self._transport.run(command)
            self._pending = done.out.decode().split() if done.code == 0 else []

    def _floor(self) -> float:
        return max(self._floor_s(), LEAST_S)


def _time(text: str) -> float | None:
    if text.isdigit():
        return float(text)
    try:  # of a Slurm that does not know SLURM_TIME_FORMAT
        return datetime.fromisoformat(text).timestamp()
    except ValueError:  # "N/A"
        return None
