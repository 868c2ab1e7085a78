"""The connections of a client to heads: one for each head."""

from __future__ import annotations

import asyncio
import contextlib

from dtrain_lab.errors import Unreachable
from dtrain_lab.services.connection import ClusterConnection
from dtrain_lab.wire import clients
from dtrain_lab.wire.processes.head_record import HeadRecord

RELEASE_WITHIN_S = 2.0


class OpenConnections:
    """Connections to heads, one for each head, however many callers need it at the same time."""

    def __init__(self) -> None:
        self._open: dict[str, ClusterConnection] = {}
        self._opening: dict[str, asyncio.Task[ClusterConnection]] = {}

    async def reach(self, record: HeadRecord) -> ClusterConnection:
        """Return the connection to a head.

        Raises:
            Unreachable: The head's process is gone.
        """
        known = self._open.get(record.id)
        if known is not None and not known.closed:
            if record.remote is None:  # a warm head has got its world; of others, the connection knows more
                known.record = record
            return known
        opening = self._opening.get(record.id)
        if opening is None or opening.done():
            opening = self._opening[record.id] = asyncio.create_task(self._opened(record))
        return await asyncio.shield(opening)  # the other callers wait for it, too

    async def release(self, lease: clients.Lease) -> None:
        """Release a lease at all heads, and close their connections; those that don't answer stay open."""
        await asyncio.gather(*(_released(c, lease) for c in list(self._open.values()) if not c.closed))

    def close(self) -> None:
        """Close all connections, and those that are being opened."""
        for opening in self._opening.values():
            opening.cancel()
        for connection in self._open.values():
            connection.close()

    async def _opened(self, record: HeadRecord) -> ClusterConnection:
        connection = ClusterConnection(record)
        try:
            await connection.open()
        except BaseException:
            connection.close()
            raise
        finally:
            del self._opening[record.id]
        self._open[record.id] = connection
        return connection


async def _released(connection: ClusterConnection, lease: clients.Lease) -> None:
    with contextlib.suppress(Unreachable):
        await connection.ask(clients.Release(lease), within_s=RELEASE_WITHIN_S)
        connection.close()
