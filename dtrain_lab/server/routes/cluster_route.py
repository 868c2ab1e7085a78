"""Base of the request handlers for one cluster."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from dtrain_lab.server.long_work import Work
from dtrain_lab.server.routes.base import BaseHandler
from dtrain_lab.services.connection import ClusterConnection, Connection
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster

AT_ONCE_S = 0.3


class ClusterRoute(BaseHandler):
    """Connects to the cluster that a path names, and begins work on it."""

    async def connection(self, identity: str) -> ClusterConnection:
        """Connect to the head of a cluster, by id or name."""
        return await self.ours.worlds.connect(identity)

    async def begin(self, connection: Connection, work: Coroutine[Any, Any, Cluster]) -> None:
        """Answer 200 if the work finishes at once, else 202 with the cluster's current state.

        Args:
            connection: Connection to the cluster's head.
            work: The coroutine that does it; it goes on after the answer.

        Raises:
            DtrainError: The request was refused.
        """
        begun = Work(work)
        if await begun.within(AT_ONCE_S):
            self.answer(begun.result(), 200)
        else:  # the cluster's state reports an error, too
            self.answer(await connection.ask(clients.Info()), 202)
