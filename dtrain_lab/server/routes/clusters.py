"""Request handlers for clusters: list, start, inspect, act on, stop."""

from __future__ import annotations

import asyncio
from pathlib import Path

from jupyter_core.utils import ensure_async
from jupyter_server.auth.decorator import authorized
from msgspec.structs import replace
from tornado import web

from dtrain_lab.errors import DtrainError, Forbidden, NotFound, Unreachable
from dtrain_lab.server.routes.base import BaseHandler
from dtrain_lab.server.routes.cluster_route import ClusterRoute
from dtrain_lab.services import last_cells, notebook_clusters
from dtrain_lab.services.connection import requests
from dtrain_lab.services.worlds import recovery
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.kinds import ENDING
from dtrain_lab.wire.plan import Request
from dtrain_lab.wire.site import RankSet, Size


class ClustersHandler(BaseHandler):
    """`clusters`."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Return all clusters, oldest first."""
        self.answer([await self.for_user(c) for c in await self.ours.worlds.clusters()])

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Start a cluster; answers 202 as soon as its head has accepted the plan."""
        request = self.body(Request)
        # only a kernel may choose the interpreter: a path from a browser could run any program
        request = replace(request, python=None)
        connection = await self.ours.worlds.begin(request, directory=await self._folder(request))
        await self._remember(request, connection.id)
        await self.ours.hub.refresh()
        self.answer(await connection.ask(clients.Info()), 202)

    async def _remember(self, request: Request, started: str) -> None:
        """Let the notebook's own kernel find the cluster, unless it uses one that can run cells."""
        if request.notebook is None:
            return
        try:
            await self.below_root(request.notebook)
        except DtrainError:  # it names no notebook of this server
            return
        notebook = await self._path_in_kernel(request.notebook)
        used = await asyncio.to_thread(notebook_clusters.last, notebook)
        if used is None or not await self._runs(used.cluster):
            begun = notebook_clusters.UsedCluster(started, request.monitor, begun=True)
            await asyncio.to_thread(notebook_clusters.remember, notebook, begun)

    async def _path_in_kernel(self, notebook: str) -> str:
        """Return the path that a notebook had when its kernel started; links are not followed."""
        for session in await ensure_async(self.session_manager.list_sessions()):
            if session["path"] == notebook and session["kernel"]:
                use = await asyncio.to_thread(notebook_clusters.of_kernel, session["kernel"]["id"], ())
                if use.notebook is not None:
                    return use.notebook
        return str(Path(self.root).expanduser() / notebook)

    async def _runs(self, cluster: str) -> bool:
        """Return whether a cluster can run cells, or soon can."""
        running = await asyncio.to_thread(self.ours.worlds.running)
        record = next((record for record in running if record.id == cluster), None)
        info = await self.ours.worlds.info(record) if record is not None else None
        return info is not None and info.state not in ENDING

    async def _folder(self, request: Request) -> str:
        """Return the ranks' working directory: the notebook's folder, which is below the server's root."""
        root = await self.below_root("")
        try:
            folder = (await self.below_root(request.notebook)).parent if request.notebook else root
        except Forbidden:
            folder = root
        is_there = folder.is_relative_to(root) and await asyncio.to_thread(folder.is_dir)
        return str(folder if is_there else root)


class ClusterHandler(ClusterRoute):
    """`clusters/{id}`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Return a cluster."""
        connection = await self.connection(identity)
        self.answer(await self.for_user(await connection.ask(clients.Info())))

    @web.authenticated
    @authorized
    async def delete(self, identity: str) -> None:
        """Stop a cluster; answers 202, its ranks end within seconds."""
        connection = await self.connection(identity)
        await self.ours.worlds.request_stop(connection)
        self.answer({"id": connection.id, "state": "stopping"}, 202)


class OutputHandler(ClusterRoute):
    """`clusters/{id}/output`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Return output after a sequence number, oldest first; optionally of one cell, by its id or name."""
        connection = await self.connection(identity)
        after, most = self.number("after", -1, least=-1), self.number("most", 1000, least=1)
        cell = self.get_query_argument("cell", None)
        self.answer(await connection.ask(clients.ReadOutput(after, most, cell)))


class CellsHandler(ClusterRoute):
    """`clusters/{id}/cells`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Return queued, running and ended cells, oldest first; with `last=1`, each cell's last run.

        Of a cluster that has ended on this machine in the last week: the last run of each cell.
        """
        last = bool(self.number("last", 0))
        try:
            connection = await self.connection(identity)
            self.answer(await connection.ask(clients.ListCells(last)))
        except (NotFound, Unreachable):
            left = await asyncio.to_thread(last_cells.of, identity)
            if left is None:
                raise
            self.answer(left)


class MetricsHandler(ClusterRoute):
    """`clusters/{id}/metrics`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Return the world's metrics."""
        connection = await self.connection(identity)
        cluster: Cluster = await connection.ask(clients.Info())
        self.answer(cluster.metrics)


class HistoryHandler(ClusterRoute):
    """`clusters/{id}/history`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Return the metric history from `since`, oldest first, in `format` json, csv or tensorboard.

        With `idle=1` it has points between trainings, too.
        """
        connection = await self.connection(identity)
        since = self.number("since", 0)
        points = await connection.ask(clients.ReadHistory(float(since), idle=self.number("idle", 0) > 0))
        self.file(points, self.get_query_argument("format", "json"))


class StacksHandler(ClusterRoute):
    """`clusters/{id}/stacks`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Return the current stacks of all ranks, or of `ranks`."""
        connection = await self.connection(identity)
        ranks = await requests.rank_set(connection, self.get_query_argument("ranks", None))
        self.answer(await connection.ask(clients.Stacks(ranks)))


class ActionHandler(ClusterRoute):
    """`clusters/{id}/interrupt` and `restart`."""

    @web.authenticated
    @authorized
    async def post(self, identity: str, action: str) -> None:
        """Interrupt (done when it returns), or restart (answers 202; progress arrives as events)."""
        wanted = self.body(RankSet)
        connection = await self.connection(identity)
        ranks = await requests.rank_set(connection, wanted.ranks)
        if action == "interrupt":
            self.answer(await connection.ask(clients.Interrupt(ranks)))
            return
        if wanted.source is None:
            await self.begin(connection, connection.ask(clients.Restart(ranks), recovery.RESTART_WITHIN_S))
        else:
            await self.begin(connection, recovery.restart(connection, ranks, wanted.source))


class LeaveOutHandler(ClusterRoute):
    """`clusters/{id}/leave-out`."""

    @web.authenticated
    @authorized
    async def post(self, identity: str) -> None:
        """Continue without the lost ranks; answers 202, progress arrives as events."""
        wanted = self.body(RankSet)
        connection = await self.connection(identity)
        lost = await requests.rank_set(connection, wanted.ranks) or ()
        await self.begin(connection, recovery.exclude(self.ours.worlds, connection, lost))


class ResizeHandler(ClusterRoute):
    """`clusters/{id}/resize`."""

    @web.authenticated
    @authorized
    async def post(self, identity: str) -> None:
        """Change the number of ranks; answers 202, progress arrives as events."""
        wanted = self.body(Size).ranks
        connection = await self.connection(identity)
        await self.begin(connection, self.ours.worlds.resize(connection, wanted))
