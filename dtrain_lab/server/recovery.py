"""Recovery: restart ranks with another rank's variables, or continue without lost ranks."""

from __future__ import annotations

import asyncio

from dtrain_lab.api.cluster import Cluster as Handle
from dtrain_lab.api.start import clusters
from dtrain_lab.errors import BadRequest
from dtrain_lab.services.connection import Connection
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.world import shrinking as leave


async def restart(connection: Connection, ranks: tuple[int, ...] | None, source: int) -> Cluster:
    """Restart ranks in new processes, with the variables of another rank.

    Args:
        connection: Connection to the cluster's head.
        ranks: Ranks to restart; None for all.
        source: Rank whose variables are copied.

    Raises:
        BadRankSet: The source is restarted itself, or does not exist.
        DtrainError: The ranks did not restart, or the variables could not be copied.
    """
    await asyncio.to_thread(_restart, connection.id, ranks, source)
    found: Cluster = await connection.ask(clients.Info())
    return found


async def exclude(connection: Connection, lost: tuple[int, ...]) -> Cluster:
    """Shrink a world to exclude lost ranks; the remaining ranks keep their variables.

    Args:
        connection: Connection to the cluster's head.
        lost: Lost ranks.

    Raises:
        BadRequest: No rank is lost.
        BadSize: No rank would remain.
        DtrainError: The ranks could not form a new group.
    """
    info: Cluster = await connection.ask(clients.Info())
    gone = tuple(r.rank for r in info.ranks if r.state == "lost" and (not lost or r.rank in lost))
    if not gone:
        raise BadRequest(f"{info.name} has lost no rank.", "Change its size instead.")
    nodes = len(info.nodes)
    plan = leave.without(gone, info.world.size, info.world.size // nodes if nodes > 1 else 1)
    await asyncio.to_thread(_exclude, info.id, gone, plan)
    found: Cluster = await connection.ask(clients.Info())
    return found


def _handle(identity: str) -> Handle:
    """Return a Python client of a cluster, without a lease: the server holds its own."""
    return next(cluster for cluster in clusters() if cluster.id == identity)


def _restart(identity: str, ranks: tuple[int, ...] | None, source: int) -> None:
    _handle(identity).restart(ranks, source)


def _exclude(identity: str, gone: tuple[int, ...], plan: leave.Leave) -> None:
    cluster = _handle(identity)
    if plan.moves:
        # a process group can't have gaps: restart the lost ranks first, then shrink the world
        cluster.restart(gone)
        for hole, spare in plan.moves:
            cluster.copy(spare, [hole])
    cluster.resize(plan.size)
