"""Recovery: restart ranks with another rank's variables, or continue without lost ranks."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any, TypeVar

from dtrain_lab.cells import rank_sets
from dtrain_lab.errors import BadRankSet, BadRequest
from dtrain_lab.machine import supervision
from dtrain_lab.services.connection import ClusterConnection, Connection
from dtrain_lab.services.views import exchange
from dtrain_lab.services.worlds.worlds import Worlds
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.world import shrinking

T = TypeVar("T")
RESTART_WITHIN_S = 200.0


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
    info: Cluster = await connection.ask(clients.Info())
    numbers = receivers(ranks, source, info.world.size)
    await connection.ask(clients.Restart(ranks), RESTART_WITHIN_S)
    await _copy(connection, [(source, numbers)])
    cluster: Cluster = await connection.ask(clients.Info())
    return cluster


async def exclude(worlds: Worlds, connection: ClusterConnection, lost: tuple[int, ...]) -> Cluster:
    """Shrink a world to exclude lost ranks; the remaining ranks keep their variables.

    Args:
        worlds: This client's worlds.
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
    size = info.world.size
    plan = shrinking.without(gone, size, shrinking.per_node(size, len(info.nodes)))
    if plan.moves:
        # a process group can't have gaps: restart the lost ranks first, then shrink the world
        await connection.ask(clients.Restart(gone), RESTART_WITHIN_S)
        await _copy(connection, [(spare, [hole]) for hole, spare in plan.moves])
    return await worlds.resize(connection, plan.size)


def receivers(ranks: tuple[int, ...] | None, source: int, size: int) -> tuple[int, ...]:
    """Return the ranks that get the variables of another rank when they are restarted.

    Args:
        ranks: Ranks to restart; None for all.
        source: Rank whose variables they get.
        size: World size.

    Raises:
        BadRankSet: The source is restarted itself, or does not exist.
    """
    rank_sets.check([source], size)
    if ranks is None or source in ranks:
        raise BadRankSet(
            f"Rank {source} can't give its variables: rank {source} is restarted, too.",
            "Name the ranks to restart, and another one to copy from.",
        )
    return ranks


class _Loop:
    """The running loop, for a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._supervisor = supervision.here()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop, and wait for its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def post(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine in the loop without waiting for it."""
        self._loop.call_soon_threadsafe(partial(self._supervisor.once, "client.task", work))


async def _copy(connection: Connection, copies: Sequence[tuple[int, Sequence[int]]]) -> None:
    """Copy variables from a rank to others, for each pair of a rank and others."""
    info: Cluster = await connection.ask(clients.Info())
    await asyncio.to_thread(_copy_in_thread, _Loop(), connection, info.world.size, copies)


def _copy_in_thread(
    loop: _Loop, connection: Connection, size: int, copies: Sequence[tuple[int, Sequence[int]]]
) -> None:
    from dtrain_lab.services.views.locked_views import (
        Views,
    )  # importing ipyparallel's client takes half a second

    views = Views(loop, connection)
    try:
        for source, ranks in copies:
            exchange.copy_variables(views.of([source], size), views.of(ranks, size))
    finally:
        views.close()
