"""Hub of live state for browsers: one coalesced frame per tick, none while no client watches."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace
from tornado.websocket import WebSocketHandler

from dtrain_lab.errors import DtrainError
from dtrain_lab.machine import supervision
from dtrain_lab.server.cluster_leases import ClusterLeases
from dtrain_lab.server.ended_clusters import EndedClusters
from dtrain_lab.server.frames import FrameTexts, encode
from dtrain_lab.server.head_tasks import HeadTasks
from dtrain_lab.server.job_feeds import JobFeeds
from dtrain_lab.server.kept_ends import KeptEnds
from dtrain_lab.server.notebook_paths import with_paths
from dtrain_lab.services.connection import ClusterConnection
from dtrain_lab.services.index import sweep_names
from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.services.worlds.worlds import Worlds
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.jobs.job import Job
from dtrain_lab.wire.kinds import JOB_ENDED
from dtrain_lab.wire.processes.head_record import HeadRecord
from dtrain_lab.wire.site import LiveFrame
from dtrain_lab.wire.sweeps import SweepState

RENEW_S = 1.0
SELDOM_S = 3600.0
"""Least seconds between two states of a cluster while no page is open: they are sent at its end only."""
FIRST_ANSWER_S = 1.0
"""Time in which a head answers before a page's first frame; one that hangs is left out of it."""
JOBS_S = 0.5
MOST_JOBS = 50
GOING_AWAY = 1001
"""WebSocket's code of an end that is not a fault."""
STOPPED_WITH_CLUSTERS = "stopped with clusters"
STOPPED_ALONE = "stopped alone"
"""Reasons of such an end; `src/request/live.ts` reads them."""


class Hub:
    """Holds the server's leases, and the latest state of each cluster while a client watches.

    Args:
        worlds: The server's worlds.
        jobs: This user's jobs.
        period_s: Minimum interval between frames.
        log: The extension's logger.
        root: The server's root, below which notebooks have paths in JupyterLab.
    """

    def __init__(self, worlds: Worlds, jobs: Jobs, period_s: float, log: Any, root: str) -> None:
        self.worlds = worlds
        self._root = root
        self._texts = FrameTexts()
        self._jobs = jobs
        self._listed_jobs: tuple[Job, ...] = ()
        self._active_sweeps: dict[str, SweepState] = {}
        self._feeds = JobFeeds(jobs, period_s, self._moved)
        self._poll_task: supervision.BackgroundTask | None = None
        self.period_s = period_s
        self._log = log
        self._clusters: dict[str, Cluster] = {}
        self._ended = EndedClusters()
        self._ends = KeptEnds(self._ended)
        self._watched: dict[str, ClusterConnection] = {}
        self._end_only: set[str] = set()
        """Watched clusters of which only the end is sent: no page is open."""
        self._viewers: set[asyncio.Event] = set()
        self._acting: set[asyncio.Event] = set()
        """Viewers whose user may act on clusters. An end shown to read-only users only is told again."""
        self.sockets: set[WebSocketHandler] = set()
        """Open sockets of pages."""
        self._lease_task: supervision.BackgroundTask | None = None
        self._leases = ClusterLeases(worlds, log, self._ended.seen)
        self._watches = HeadTasks()

    async def hold_leases(self) -> None:
        """Hold a lease on every cluster of this server's kernels; drop clusters that have ended."""
        while True:
            await self._renew_leases()
            await asyncio.sleep(RENEW_S)

    def start(self) -> None:
        """Start the task that keeps the leases; later calls do nothing."""
        if self._lease_task is None:
            self._lease_task = supervision.here().start_loop("server.keep", self.hold_leases)

    def stop(self) -> None:
        """Stop the task that keeps the leases."""
        if self._lease_task is not None:
            self._lease_task.cancel()
        self._leases.stop()
        self._watches.cancel()

    def farewell(self, *, clusters_stop: bool) -> None:
        """Close the sockets of pages as "going away": a page can then say that the server was stopped.

        Args:
            clusters_stop: Whether this machine's clusters stop with the server.
        """
        for socket in tuple(self.sockets):
            socket.close(GOING_AWAY, STOPPED_WITH_CLUSTERS if clusters_stop else STOPPED_ALONE)

    def add(self, viewer: asyncio.Event) -> None:
        """Add a viewer, whose event is set on each change."""
        self.start()
        self._viewers.add(viewer)
        if self._poll_task is None:
            self._poll_task = supervision.here().start_loop("server.jobs", self._poll_jobs)

    async def remove(self, viewer: asyncio.Event) -> None:
        """Remove a viewer; after the last one, heads stop sending."""
        self._viewers.discard(viewer)
        self._acting.discard(viewer)
        if not self._viewers:
            if self._poll_task is not None:
                self._poll_task.cancel()
                self._poll_task = None
            self._feeds.stop()
            watched = [(identity, c) for identity, c in self._watched.items() if not c.closed]
            await asyncio.gather(*(self._watch_end(*one) for one in watched))

    async def refresh(self) -> None:
        """Query all jobs and clusters now, and watch new ones; does nothing while there are no viewers."""
        if not self._viewers:
            return
        await self._ends.recall(self._watched.keys())
        try:
            await self._poll_jobs_once()
        except DtrainError as error:  # an error in listing jobs must not hide clusters
            self._log.warning("dtrain-lab: %s", error)
        except Exception as error:  # noqa: BLE001 # nor must a bug of ours
            supervision.here().fault("server.jobs", error)
        await self._refresh_clusters()
        await self._watches.answered(FIRST_ANSWER_S)

    async def _refresh_clusters(self) -> None:
        if not self._viewers:
            return
        found = await asyncio.to_thread(self.worlds.running)
        self._watch_all(found)
        for identity in set(self._clusters) - {record.id for record in found}:
            self._forget(identity)

    def _watch_all(self, found: Sequence[HeadRecord]) -> None:
        """Begin to watch these clusters; while no page is open, for their end only."""
        for record in found:
            known = self._watched.get(record.id)
            if known is None or known.closed or (self._viewers and record.id in self._end_only):
                self._watches.begin(record.id, partial(self._watch, record))

    def clusters(self) -> list[Cluster]:
        """Return the latest state of each cluster, oldest first."""
        return sorted(self._clusters.values(), key=lambda c: c.created_at)

    def jobs(self) -> tuple[Job, ...]:
        """Return jobs that run or ended recently, newest first."""
        return tuple(map(self._feeds.with_live_state, self._listed_jobs))

    def frame(self, seq: int, *, acts: bool, columns: bool) -> str:
        """Return the text of the current frame; it is encoded once for all pages that receive the same.

        Args:
            seq: Number of the frame; the first one, 0, also tells which clusters have ended before.
            acts: Whether it offers the actions that the user may perform; not for a user who may only read.
            columns: As in `frames.encode`.
        """

        def made() -> LiveFrame:
            clusters, jobs = tuple(self.clusters()), self.jobs()
            if not acts:
                clusters = tuple(replace(cluster, may=()) for cluster in clusters)
                jobs = tuple(replace(job, may=()) for job in jobs)
            untold = () if seq else self._ended.untold
            return LiveFrame(
                "clusters", 0, clusters, jobs, self._active_sweeps, self._ended.summaries, untold
            )

        return self._texts.numbered(seq, (acts, columns, not seq), lambda: encode(made(), columns=columns))

    async def _poll_jobs(self) -> None:
        """Poll for jobs while there are viewers: no process announces them."""
        while True:
            await asyncio.sleep(JOBS_S)
            try:
                await self._poll_jobs_once()
            except DtrainError as error:
                self._log.warning("dtrain-lab: %s", error)

    async def _poll_jobs_once(self) -> None:
        found = await self._jobs.listing(MOST_JOBS)
        if self._viewers:
            self._feeds.follow(found)
        found = await asyncio.to_thread(with_paths, found, self._root)
        listed = tuple(replace(job, ranks=()) if job.state in JOB_ENDED else job for job in found)
        sweeps = await asyncio.to_thread(sweep_names.active)
        if (listed, sweeps) != (self._listed_jobs, self._active_sweeps):
            self._listed_jobs, self._active_sweeps = listed, sweeps
            self._moved()

    def changed(self, cluster: Cluster) -> None:
        """Store a changed state that a head has sent."""
        self._clusters[cluster.id] = cluster
        self._ended.seen(cluster)
        self._moved()

    def _moved(self) -> None:
        self._texts.clear()
        for viewer in self._viewers:
            viewer.set()

    def sent(self, viewer: asyncio.Event, *, first: bool) -> None:
        """Note that a frame was sent to a viewer whose user may act: its page tells of ends from now on.

        Args:
            viewer: The viewer.
            first: It is the first frame, which also tells of the ends before.
        """
        self._acting.add(viewer)
        if first:
            self._ended.tell()

    async def leave(self) -> None:
        """Keep, for the next server, what pages are to be told; call it after `stop`."""
        await self._ends.save()

    async def _renew_leases(self) -> None:
        await self._ends.recall(self._watched.keys())
        found = await self._leases.renew()
        if not self._viewers:
            self._watch_all(found)
        await self._refresh_clusters()
        await self._ends.save()

    async def _watch(self, record: HeadRecord) -> None:
        try:
            connection = await self.worlds.reach(record)
            cluster = await connection.ask(clients.Info())
            if self._watched.get(record.id) is connection:
                await connection.unwatch(self.changed)
        except DtrainError:  # it ended after its record was read, or hangs
            return
        if connection.closed:  # meanwhile
            return
        if self._watched.get(record.id) is not connection:
            self._watched[record.id] = connection
            connection.on_close.append(lambda: self._forget(record.id))
        if self._viewers:
            self._end_only.discard(record.id)
            connection.watch(self.changed, self.period_s)
        else:
            self._end_only.add(record.id)
            connection.watch(self.changed, SELDOM_S, end_only=True)
        self.changed(cluster)

    async def _watch_end(self, identity: str, connection: ClusterConnection) -> None:
        """Watch a cluster for its end only, until a page is opened."""
        self._end_only.add(identity)
        with contextlib.suppress(DtrainError):  # its head hangs, or ends
            await connection.unwatch()
        if not self._viewers and not connection.closed:  # neither has happened meanwhile
            connection.watch(self.changed, SELDOM_S, end_only=True)

    def _forget(self, identity: str) -> None:
        self._watched.pop(identity, None)
        self._end_only.discard(identity)
        self._ended.gone(identity, told=bool(self._acting), ending=self._ends.noted(identity))
        if self._clusters.pop(identity, None) is not None:
            self._moved()
