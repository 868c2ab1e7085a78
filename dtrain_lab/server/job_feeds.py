"""Live state of running jobs: connections to their heads, kept while a client watches."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial

from dtrain_lab.errors import DtrainError
from dtrain_lab.jobs.judgement import answers
from dtrain_lab.jobs.state import with_metrics
from dtrain_lab.machine import supervision
from dtrain_lab.services.connection import Connection
from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.jobs.job import Job

POLL_S = 1.0
CONNECT_WITHIN_S = 10.0
TRY_AGAIN_S = 5.0
STALE_S = 15.0
"""A head that is silent for this long counts as ended; the job's folder is then the only source."""


class JobFeeds:
    """Connections to the heads of running jobs.

    Args:
        jobs: This user's jobs.
        period_s: Minimum interval between two updates of a head.
        changed: Called on each update.
    """

    def __init__(self, jobs: Jobs, period_s: float, changed: Callable[[], None]) -> None:
        self._jobs = jobs
        self._period_s = period_s
        self._changed = changed
        self._wanted: frozenset[str] = frozenset()
        self._connections: dict[str, Connection] = {}
        self._latest: dict[str, tuple[float, Cluster | None]] = {}
        """Job → time of its head's last message, and the state in it."""
        self._tried_at: dict[str, float] = {}
        self._task: supervision.BackgroundTask | None = None

    def follow(self, listed: Sequence[Job]) -> None:
        """Connect to the heads of running jobs, and disconnect from all others."""
        self._wanted = frozenset(
            job.id for job in listed if job.state in ("running", "stopping") and answers(job)
        )
        if self._task is None:
            self._task = supervision.here().start_loop("server.feeds", self._update)

    def with_live_state(self, job: Job) -> Job:
        """Return a job with the live state from its head, if that is recent."""
        at, world = self._latest.get(job.id, (0.0, None))
        return job if world is None or time.monotonic() - at > STALE_S else with_metrics(job, world)

    def stop(self) -> None:
        """Disconnect from all heads, because no client watches any more."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self._wanted = frozenset()
        for identity in list(self._connections):
            self._unfollow(identity)

    async def _update(self) -> None:
        while True:
            now = time.monotonic()
            for identity, (at, _) in list(self._latest.items()):
                if identity not in self._wanted or now - at > STALE_S:
                    self._unfollow(identity)
            self._tried_at = {i: at for i, at in self._tried_at.items() if i in self._wanted}
            new = {i for i in self._wanted if now - self._tried_at.get(i, -TRY_AGAIN_S) >= TRY_AGAIN_S}
            new -= set(self._connections)
            self._tried_at |= dict.fromkeys(new, now)
            await asyncio.gather(*map(self._connect, new))
            await asyncio.sleep(POLL_S)

    async def _connect(self, identity: str) -> None:
        try:
            async with asyncio.timeout(CONNECT_WITHIN_S):  # a silent host must not delay other jobs' feeds
                connection = await (await self._jobs.reader(identity)).connect()
        except (DtrainError, TimeoutError):  # no head yet, or unreachable: use the state in the job's folder
            return
        except Exception as error:  # noqa: BLE001 # an unwatchable job must not hide others
            supervision.here().fault("server.feeds", error)
            return
        self._connections[identity] = connection
        self._latest[identity] = time.monotonic(), None
        connection.watch(partial(self._follow, identity), self._period_s)

    def _follow(self, identity: str, world: Cluster) -> None:
        self._latest[identity] = time.monotonic(), world
        self._changed()

    def _unfollow(self, identity: str) -> None:
        self._latest.pop(identity, None)
        connection = self._connections.pop(identity, None)
        if connection is not None:
            connection.close()
