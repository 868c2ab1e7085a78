"""Clusters: list, start, look at, act on, stop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from jupyter_server.auth.decorator import authorized
from tornado import web

from dtrain_lab.core.cluster import Cluster
from dtrain_lab.core.plan import Request
from dtrain_lab.core.site import RankSet, Size
from dtrain_lab.core.wire import doors
from dtrain_lab.errors import BadSize, DtrainError, Forbidden
from dtrain_lab.server.routes.base import BaseHandler
from dtrain_lab.services import profiles
from dtrain_lab.services.diagnosis import diagnose
from dtrain_lab.services.reach import Connection

AT_ONCE_S = 0.3


class ClustersHandler(BaseHandler):
    """`clusters`."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """All clusters, oldest first."""
        self.answer([await self.for_user(c) for c in await self.ours.worlds.clusters()])

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Start one; 202 as soon as its head has the plan."""
        request = self.body(Request)
        self._check(request)
        connection = await self.ours.worlds.begin(request, directory=self._folder(request))
        await self.ours.hub.refresh()
        self.answer(await connection.ask(doors.Info()), 202)

    def _folder(self, request: Request) -> str:
        """Where the ranks start: beside the notebook, and never above the server's root."""
        root = Path(self.settings["server_root_dir"]).expanduser().resolve()
        folder = (root / (request.notebook or "")).resolve()
        folder = folder.parent if request.notebook else folder
        return str(folder if folder.is_relative_to(root) and folder.is_dir() else root)

    def _check(self, request: Request) -> None:
        if not self.ours.allow_local and profiles.load(request.profile).backend == "local":
            raise Forbidden(
                "Ranks may not run on this machine.", "Choose another profile.", code="no_local_ranks"
            )
        limit = self.ours.max_ranks
        asked = request.ranks or (request.nodes or 1) * (request.ranks_per_node or 1)
        if limit and asked > limit:
            raise BadSize(f"A cluster may have at most {limit} ranks here.", "Ask for fewer.")


class _ClusterHandler(BaseHandler):
    async def connection(self, identity: str) -> Connection:
        """The head of a cluster, by id or name."""
        return await self.ours.worlds.connect(identity)

    async def begin(self, connection: Connection, work: Coroutine[Any, Any, Cluster]) -> None:
        """Answer 200 where the work is done at once, else 202 with the cluster as it then is.

        Raises:
            DtrainError: it was refused.
        """
        task = asyncio.ensure_future(work)
        done, _ = await asyncio.wait([task], timeout=AT_ONCE_S)
        if done:
            self.answer(task.result(), 200)
            return
        task.add_done_callback(self._ended)
        self.answer(await connection.ask(doors.Info()), 202)

    def _ended(self, task: asyncio.Future[Any]) -> None:
        if not task.cancelled() and isinstance(error := task.exception(), DtrainError):
            self.log.info("dtrain-lab: %s", error)


class ClusterHandler(_ClusterHandler):
    """`clusters/{id}`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """One cluster."""
        connection = await self.connection(identity)
        self.answer(await self.for_user(await connection.ask(doors.Info())))

    @web.authenticated
    @authorized
    async def delete(self, identity: str) -> None:
        """Stop it; 202: its ranks end within seconds."""
        connection = await self.connection(identity)
        await connection.ask(doors.Stop())
        self.answer({"id": connection.record.id, "state": "stopping"}, 202)


class OutputHandler(_ClusterHandler):
    """`clusters/{id}/output`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Output after a sequence number, oldest first; of one cell, by its id or name, if asked."""
        connection = await self.connection(identity)
        after, most = self.number("after", -1), self.number("most", 1000)
        cell = self.get_query_argument("cell", None)
        self.answer(await connection.ask(doors.ReadOutput(after, most, cell)))


class CellsHandler(_ClusterHandler):
    """`clusters/{id}/cells`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Cells that it knows of, oldest first: waiting, running, ended."""
        connection = await self.connection(identity)
        self.answer(await connection.ask(doors.ListCells()))


class MetricsHandler(_ClusterHandler):
    """`clusters/{id}/metrics`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Figures of the world."""
        connection = await self.connection(identity)
        cluster: Cluster = await connection.ask(doors.Info())
        self.answer(cluster.metrics)


class HistoryHandler(_ClusterHandler):
    """`clusters/{id}/history`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Figures of the past, oldest first; `since` a time, as `format` json, csv or tensorboard."""
        connection = await self.connection(identity)
        since = self.number("since", 0)
        points = await connection.ask(doors.ReadHistory(float(since)))
        self.file(points, self.get_query_argument("format", "json"))


class StacksHandler(_ClusterHandler):
    """`clusters/{id}/stacks`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """What the threads of all ranks do now."""
        connection = await self.connection(identity)
        self.answer(await connection.ask(doors.Stacks()))


class DiagnoseHandler(_ClusterHandler):
    """`clusters/{id}/diagnose`."""

    @web.authenticated
    @authorized
    async def post(self, identity: str) -> None:
        """What takes a step's time; steps run again for it, and what they change is put back."""
        self.answer(await diagnose(await self.connection(identity)))


class ActionHandler(_ClusterHandler):
    """`clusters/{id}/interrupt` and `restart`."""

    @web.authenticated
    @authorized
    async def post(self, identity: str, action: str) -> None:
        """Interrupt: done when it returns. Restart: 202, the rest arrives as events."""
        ranks = self.body(RankSet).ranks
        connection = await self.connection(identity)
        if action == "interrupt":
            self.answer(await connection.ask(doors.Interrupt(ranks)))
            return
        await self.begin(connection, connection.ask(doors.Restart(ranks), within_s=200.0))


class ResizeHandler(_ClusterHandler):
    """`clusters/{id}/resize`."""

    @web.authenticated
    @authorized
    async def post(self, identity: str) -> None:
        """Another number of ranks: 202, the rest arrives as events."""
        wanted = self.body(Size).ranks
        connection = await self.connection(identity)
        limit = self.ours.max_ranks
        if limit and wanted > limit:
            raise BadSize(f"A cluster may have at most {limit} ranks here.", "Ask for fewer.")
        await self.begin(connection, self.ours.worlds.resize(connection, wanted))
