"""Hub of live state for browsers: one coalesced frame per tick, none while no client watches."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import psutil
from msgspec.structs import replace
from tornado.websocket import WebSocketHandler

from dtrain_lab.errors import DtrainError
from dtrain_lab.machine import processes, supervision
from dtrain_lab.server.job_feeds import JobFeeds
from dtrain_lab.services.connection import Connection, head_records
from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.services.worlds import endings
from dtrain_lab.services.worlds.worlds import Worlds
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.endings import Ending
from dtrain_lab.wire.jobs.job import Job
from dtrain_lab.wire.kinds import ENDING, JOB_ENDED
from dtrain_lab.wire.processes.head_record import HeadRecord
from dtrain_lab.wire.summary import Summary

RENEW_S = 1.0
JOBS_S = 0.5
MOST_JOBS = 50
MOST_ENDED = 20
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
    """

    def __init__(self, worlds: Worlds, jobs: Jobs, period_s: float, log: Any) -> None:
        self.worlds = worlds
        self._jobs = jobs
        self._listed_jobs: tuple[Job, ...] = ()
        self._feeds = JobFeeds(jobs, period_s, self._moved)
        self._poll_task: supervision.BackgroundTask | None = None
        self.period_s = period_s
        self._log = log
        self._clusters: dict[str, Cluster] = {}
        self.ended: dict[str, Summary] = {}
        """The last state of clusters that ended lately, by id, oldest first."""
        self._noted: set[str] = set()
        self._watched: dict[str, Connection] = {}
        self._viewers: set[asyncio.Event] = set()
        self.sockets: set[WebSocketHandler] = set()
        """Open sockets of pages."""
        self._lease_task: supervision.BackgroundTask | None = None
        self._last_error: dict[str, str] = {}
        """Cluster → last log message about it, so that it is not repeated every second."""

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
        if not self._viewers:
            if self._poll_task is not None:
                self._poll_task.cancel()
                self._poll_task = None
            self._feeds.stop()
            watched, self._watched = self._watched, {}
            for connection in watched.values():
                if not connection.closed:
                    await connection.unwatch()

    async def refresh(self) -> None:
        """Query all clusters now, and watch new ones; does nothing while there are no viewers."""
        if not self._viewers:
            return
        try:
            await self._poll_jobs_once()
        except DtrainError as error:  # an error in listing jobs must not hide clusters
            self._log.warning("dtrain-lab: %s", error)
        except Exception as error:  # noqa: BLE001 # nor must a bug of ours
            supervision.here().fault("server.jobs", error)
        found = await asyncio.to_thread(self.worlds.running)
        for record in found:
            if record.id not in self._watched or self._watched[record.id].closed:
                await self._watch(record)
        for identity in set(self._clusters) - {record.id for record in found}:
            self._forget(identity)

    def clusters(self) -> list[Cluster]:
        """Return the latest state of each cluster, oldest first."""
        return sorted(self._clusters.values(), key=lambda c: c.created_at)

    def jobs(self) -> tuple[Job, ...]:
        """Return jobs that run or ended recently, newest first."""
        return tuple(map(self._feeds.with_live_state, self._listed_jobs))

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
        listed = tuple(replace(job, ranks=()) if job.state in JOB_ENDED else job for job in found)
        if listed != self._listed_jobs:
            self._listed_jobs = listed
            self._moved()

    def changed(self, cluster: Cluster) -> None:
        """Store a changed state that a head has sent."""
        self._clusters[cluster.id] = cluster
        if cluster.state in ENDING and cluster.summary.values.get("at"):
            self.ended = dict([*self.ended.items(), (cluster.id, cluster.summary)][-MOST_ENDED:])
        self._moved()

    def _moved(self) -> None:
        for viewer in self._viewers:
            viewer.set()

    async def _renew_leases(self) -> None:
        found = await asyncio.to_thread(self._ours)
        for record in found:  # separately: an unreachable head must not cost the other clusters their lease
            try:
                await self.worlds.take_lease(await self.worlds.reach(record))
                self._last_error.pop(record.id, None)
            except DtrainError as error:
                self._log_once(record, error)
            except Exception as error:  # noqa: BLE001 # one cluster must not cost the leases of others
                supervision.here().fault("server.keep", error)
        for identity, summary in self.ended.items():
            if summary.values["by"] == "idle" and identity not in self._noted:  # no client has noted it
                self._noted.add(identity)
                ending = Ending("idle", None, summary.values["at"], summary.values["idle_s"])
                await asyncio.to_thread(endings.note, identity, ending)
        await self.refresh()

    def _log_once(self, record: HeadRecord, error: DtrainError) -> None:
        """Log why a cluster's lease was not renewed, unless the last attempt failed in the same way."""
        if self._last_error.get(record.id) != str(error):
            self._last_error[record.id] = str(error)
            self._log.warning("dtrain-lab: %s", error)

    def _ours(self) -> list[HeadRecord]:
        """Return clusters that this server's clients started, and those whose server is gone."""
        mine = os.getpid()
        there = [(r, r.server) for r in head_records.living() if not r.warm and r.server is not None]
        return [r for r, server in there if server == mine or _is_gone(server, r.server_started)]

    async def _watch(self, record: HeadRecord) -> None:
        try:
            connection = await self.worlds.reach(record)
            cluster = await connection.ask(clients.Info())
        except DtrainError:  # ended after its record was read
            return
        except Exception as error:  # noqa: BLE001 # an unwatchable cluster must not hide others
            supervision.here().fault("server.keep", error)
            return
        self._watched[record.id] = connection
        connection.on_close.append(lambda: self._forget(record.id))
        connection.watch(self.changed, self.period_s)
        self.changed(cluster)

    def _forget(self, identity: str) -> None:
        self._watched.pop(identity, None)
        if self._clusters.pop(identity, None) is not None:
            self._moved()


def _is_gone(server: int, began: float) -> bool:
    """Return whether a server has ended.

    Args:
        server: Its pid.
        began: When it started; 0 if that is not known. Any living process with its pid is then taken for the
            server: a lease on a living server's cluster would keep the cluster beyond that server's end.
    """
    try:
        ended = psutil.Process(server).status() == psutil.STATUS_ZOMBIE
        return ended or (bool(began) and abs(processes.started(server) - began) >= processes.APART_S)
    except psutil.NoSuchProcess:
        return True
