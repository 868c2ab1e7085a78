"""Names of clusters that run no cell any more: such a cluster gives its name to a new one."""

from __future__ import annotations

import asyncio
from typing import Protocol

from dtrain_lab.errors import Unreachable
from dtrain_lab.services.connection import ClusterConnection
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.kinds import ENDED, ENDING
from dtrain_lab.wire.processes.head_record import HeadRecord

ENDS_WITHIN_S = 20.0
"""Time in which a cluster that is stopped ends: its ranks get some seconds to end by themselves."""


class Clusters(Protocol):
    """The part of `worlds.Worlds` that frees a name."""

    async def reach(self, record: HeadRecord) -> ClusterConnection:
        """Return the connection to a head."""

    async def stop(self, connection: ClusterConnection) -> None:
        """End a cluster, and wait until its head is gone."""


async def freed(clusters: Clusters, record: HeadRecord, info: Cluster | None) -> bool:
    """End a cluster that has failed, or wait for the end of one that stops, as a new one wants its name.

    Args:
        clusters: What reaches and stops it.
        record: Record of the cluster's head.
        info: The cluster as its head has just said; None if the head did not answer.

    Returns:
        Whether the head is gone, and with it the claim to the name.
    """
    try:
        connection = await clusters.reach(record)
    except Unreachable:  # it has ended since the name was looked up
        return True
    if info is not None and info.state in ENDING:
        try:
            async with asyncio.timeout(ENDS_WITHIN_S):
                if info.state in ENDED:  # it has no ranks, only its name
                    await clusters.stop(connection)
                else:
                    await connection.ended()
        except (TimeoutError, Unreachable):
            return connection.closed
        return True
    return connection.closed
