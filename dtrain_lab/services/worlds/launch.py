"""Launches a world on this machine: gives ranks to a warm head, or to a new one."""

from __future__ import annotations

from typing import Protocol

import msgspec

from dtrain_lab.errors import Conflict, Unreachable
from dtrain_lab.services.connection import ClusterConnection
from dtrain_lab.services.profiles import environment
from dtrain_lab.services.worlds.heads import spawn
from dtrain_lab.services.worlds.warm_heads import WarmHeads
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.kinds import ENDED
from dtrain_lab.wire.processes.head_record import HeadRecord, Server
from dtrain_lab.wire.profile import Profile


class Heads(Protocol):
    """The part of `worlds.Worlds` that finds heads, and connects to them."""

    warm_heads: WarmHeads

    async def reach(self, record: HeadRecord) -> ClusterConnection:
        """Return the connection to a head."""

    async def info(self, record: HeadRecord) -> Cluster | None:
        """Return the state of a head; None if it has ended or does not answer."""


async def launched(heads: Heads, order: clients.Launch, profile: Profile) -> ClusterConnection:
    """Launch a world in a warm head of the same environment; without one, in a new head.

    A new head may have failed by now, as it can't import torch: the world has failed then, and says why.

    Args:
        heads: What finds heads.
        order: The world.
        profile: Its profile.

    Raises:
        StartFailed: The new head ended at once, or does not answer; or its folder has no room.
    """
    claimed = await _claimed(heads, order, profile)
    if claimed is not None:
        return claimed
    server = Server(order.server, order.server_started)
    return await _launched(heads, await spawn(order.plan, profile, server=server), order)


async def _claimed(heads: Heads, order: clients.Launch, profile: Profile) -> ClusterConnection | None:
    """Claim a warm head; None if there is none left."""
    key = environment.key(order.plan.python, profile.environment)
    for record in await heads.warm_heads.claimable(key):
        info = await heads.info(record)
        if info is None or info.state in ENDED:  # what kept it from loading torch may be mended since
            continue
        try:
            return await _launched(heads, record, order)
        except (Conflict, Unreachable):
            continue
    return None


async def _launched(heads: Heads, record: HeadRecord, order: clients.Launch) -> ClusterConnection:
    connection = await heads.reach(record)
    await connection.ask(order)
    connection.record = msgspec.structs.replace(
        record, name=order.name, warm=False, server=order.server, server_started=order.server_started
    )
    return connection
