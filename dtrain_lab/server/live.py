"""What the server knows of all clusters, and tells browsers: one coalesced frame a tick, none unwatched."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import psutil
from msgspec.structs import replace

from dtrain_lab.core.cluster import Cluster
from dtrain_lab.core.job import Job
from dtrain_lab.core.kinds import JOB_ENDED
from dtrain_lab.core.record import HeadRecord
from dtrain_lab.core.wire import doors
from dtrain_lab.errors import DtrainError
from dtrain_lab.services import records
from dtrain_lab.services.jobs import Jobs
from dtrain_lab.services.reach import Connection
from dtrain_lab.services.worlds import Worlds

KEEP_S = 1.0
JOBS_S = 0.5
MOST_JOBS = 50


class Hub:
    """Holds the server's leases, and the latest state of each cluster while somebody watches.

    Args:
        worlds: the server's.
        jobs: this user's.
        period_s: between frames, at least.
        log: the extension's logger.
    """

    def __init__(self, worlds: Worlds, jobs: Jobs, period_s: float, log: Any) -> None:
        self.worlds = worlds
        self._jobs = jobs
        self._seen: tuple[Job, ...] = ()
        self._looker: asyncio.Task[None] | None = None
        self.period_s = period_s
        self._log = log
        self._clusters: dict[str, Cluster] = {}
        self._watched: dict[str, Connection] = {}
        self._viewers: set[asyncio.Event] = set()
        self._keeper: asyncio.Task[None] | None = None

    async def keep(self) -> None:
        """Hold a lease on every cluster of this server's kernels; forget what has ended."""
        while True:
            try:
                await self._keep_once()
            except DtrainError as error:
                self._log.warning("dtrain-lab: %s", error)
            await asyncio.sleep(KEEP_S)

    def start(self) -> None:
        """Start keeping, once."""
        if self._keeper is None:
            self._keeper = asyncio.create_task(self.keep())

    def stop(self) -> None:
        """Stop keeping."""
        if self._keeper is not None:
            self._keeper.cancel()

    def add(self, viewer: asyncio.Event) -> None:
        """Somebody watches; the event is set at each change."""
        self.start()
        self._viewers.add(viewer)
        if self._looker is None:
            self._looker = asyncio.create_task(self._look())

    async def remove(self, viewer: asyncio.Event) -> None:
        """Somebody watches no more; with the last one the heads stop sending."""
        self._viewers.discard(viewer)
        if not self._viewers:
            if self._looker is not None:
                self._looker.cancel()
                self._looker = None
            watched, self._watched = self._watched, {}
            for connection in watched.values():
                if not connection.closed:
                    await connection.unwatch()

    async def refresh(self) -> None:
        """Ask all clusters now, and watch those that are new; nothing where nobody watches."""
        if not self._viewers:
            return
        await self._look_once()
        found = await asyncio.to_thread(self.worlds.found)
        for record in found:
            if record.id not in self._watched or self._watched[record.id].closed:
                await self._watch(record)
        for identity in set(self._clusters) - {record.id for record in found}:
            self._forget(identity)

    def clusters(self) -> list[Cluster]:
        """Latest state of each cluster, oldest first."""
        return sorted(self._clusters.values(), key=lambda c: c.created_at)

    def jobs(self) -> tuple[Job, ...]:
        """Jobs that run or ended lately, newest first."""
        return self._seen

    async def _look(self) -> None:
        """Jobs say nothing by themselves: look, while somebody watches."""
        while True:
            await asyncio.sleep(JOBS_S)
            try:
                await self._look_once()
            except DtrainError as error:
                self._log.warning("dtrain-lab: %s", error)

    async def _look_once(self) -> None:
        found = await self._jobs.listing(MOST_JOBS)
        seen = tuple(replace(job, ranks=()) if job.state in JOB_ENDED else job for job in found)
        if seen != self._seen:
            self._seen = seen
            for viewer in self._viewers:
                viewer.set()

    def changed(self, cluster: Cluster) -> None:
        """A head has told of a change."""
        self._clusters[cluster.id] = cluster
        for viewer in self._viewers:
            viewer.set()

    async def _keep_once(self) -> None:
        found = await asyncio.to_thread(self._ours)
        for record in found:
            connection = await self.worlds.reach(record)
            await self.worlds.hold(connection)
        await self.refresh()

    def _ours(self) -> list[HeadRecord]:
        """Clusters that this server's doors started, and orphans of a server that is gone."""
        mine = os.getpid()
        return [
            r
            for r in records.living()
            if not r.warm and r.server is not None and (r.server == mine or not psutil.pid_exists(r.server))
        ]

    async def _watch(self, record: HeadRecord) -> None:
        try:
            connection = await self.worlds.reach(record)
            cluster = await connection.ask(doors.Info())
        except DtrainError:  # it ended between its record and our call
            return
        self._watched[record.id] = connection
        connection.on_close.append(lambda: self._forget(record.id))
        connection.watch(self.changed, self.period_s)
        self.changed(cluster)

    def _forget(self, identity: str) -> None:
        self._watched.pop(identity, None)
        if self._clusters.pop(identity, None) is not None:
            for viewer in self._viewers:
                viewer.set()
