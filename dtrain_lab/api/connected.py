"""A connected cluster: the part of `Cluster` on which its other parts are built."""

from __future__ import annotations

from typing import Any

from dtrain_lab.api.portal import Portal
from dtrain_lab.cells import rank_sets
from dtrain_lab.services.connection import ClusterConnection, requests
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster as ClusterInfo


class ConnectedCluster:
    """A cluster that this process is connected to.

    Args:
        portal: The process's portal, whose loop the connection lives in.
        connection: The connection to the head.
    """

    def __init__(self, portal: Portal, connection: ClusterConnection) -> None:
        self._portal = portal
        self._connection = connection
        self._size = 0

    async def ask(self, body: clients.AnyBody, within_s: float | None = 30.0) -> Any:
        """Send a request to the head; only in the portal's loop.

        Args:
            body: The request.
            within_s: Timeout in seconds; None for no timeout.

        Returns:
            The head's answer.
        """
        return await self._connection.ask(body, within_s)

    @property
    def name(self) -> str:
        """Name of the cluster."""
        return self._connection.name

    @property
    def id(self) -> str:
        """Unique id of the cluster, independent of its name."""
        return self._connection.id

    @property
    def connection(self) -> ClusterConnection:
        """The connection to the head; only for use in the portal's loop."""
        return self._connection

    @property
    def size(self) -> int:
        """Number of ranks as last reported; asks the head if nothing was reported yet."""
        return self._size or self.snapshot().world.size

    @property
    def gone(self) -> bool:
        """Whether the head has ended, as far as this process knows; sends no request."""
        return self._connection.closed

    def snapshot(self) -> ClusterInfo:
        """Return the cluster's complete state as a typed value."""
        info: ClusterInfo = self._portal.call(self.ask(clients.Info()))
        self._size = info.world.size
        return info

    async def rank_set(self, ranks: rank_sets.Asked) -> tuple[int, ...] | None:
        """Parse a set of ranks; None for all. Only in the portal's loop."""
        return await requests.rank_set(self._connection, ranks)
