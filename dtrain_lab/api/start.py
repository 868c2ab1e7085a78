"""Starting and finding clusters: `start`, `clusters`, `connect`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

from dtrain_lab.api.cluster import Cluster
from dtrain_lab.api.portal import Portal
from dtrain_lab.api.validation import checked
from dtrain_lab.errors import Unreachable
from dtrain_lab.wire.cluster import Cluster as ClusterInfo
from dtrain_lab.wire.kinds import ENDED
from dtrain_lab.wire.plan import Request
from dtrain_lab.wire.processes.head_record import HeadRecord

SOON_S = 2.0
"""Time in which a head says how its cluster is; one that hangs must not hold up what concerns others."""


def start(
    profile: str = "local",
    ranks: int | None = None,
    name: str | None = None,
    *,
    nodes: int | None = None,
    ranks_per_node: int | None = None,
    monitor: bool | None = None,
    on_change: Callable[[ClusterInfo], None] | None = None,
) -> Cluster:
    """Start a cluster and wait until it is ready. If this is interrupted, no cluster is left.

    Args:
        profile: Name of the profile to run with.
        ranks: Number of ranks; by default one per GPU, or two on a machine without GPUs.
        name: Name of the cluster; by default made from profile and size.
        nodes, ranks_per_node: Size, instead of `ranks`.
        monitor: Whether to monitor steps and communication; by default the profile's setting.
        on_change: Called with the cluster's state while it starts, in another thread.

    Raises:
        BadSize, BadProfile, NotFound, Conflict, EnvironmentUnfit: Nothing was started.
        StartFailed: The cluster ended before it was ready.
    """
    portal = Portal.get()
    request = Request(profile, ranks, nodes, ranks_per_node, name, monitor, python=sys.executable)
    checked("dt.start", request)
    return portal.call(_start(portal, request, on_change))


async def start_async(
    profile: str = "local", ranks: int | None = None, name: str | None = None, **more: int | None
) -> Cluster:
    """Async twin of `start`.

    Args:
        profile: Name of the profile to run with.
        ranks: Number of ranks; by default one per GPU, or two on a machine without GPUs.
        name: Name of the cluster; by default made from profile and size.
        more: `nodes` and `ranks_per_node`, instead of `ranks`.
    """
    portal = Portal.get()
    request = Request(profile, ranks, name=name, python=sys.executable, **more)  # type: ignore[arg-type]
    checked("start_async", request)
    return await portal.wrap(_start(portal, request, None))


def clusters() -> list[Cluster]:
    """Return this user's running clusters, oldest first."""
    portal = Portal.get()
    return portal.call(_clusters(portal))


async def clusters_async() -> list[Cluster]:
    """Async twin of `clusters`."""
    portal = Portal.get()
    return await portal.wrap(_clusters(portal))


def connect(name: str) -> Cluster:
    """Return a running cluster by its name or id, and take a lease on it for this process.

    Raises:
        NotFound: There is no such cluster.
    """
    portal = Portal.get()

    async def reach() -> Cluster:
        connection = await portal.worlds.connect(name)
        await portal.worlds.take_lease(connection, attach=True)
        return Cluster(portal, connection)

    return portal.call(reach())


async def _start(portal: Portal, request: Request, told: Callable[[ClusterInfo], None] | None) -> Cluster:
    connection, _ = await portal.worlds.start(request, told=told)
    return Cluster(portal, connection)


async def usable(portal: Portal, record: HeadRecord) -> Cluster | None:
    """Return a cluster if it may run cells; one whose head does not answer may.

    Args:
        portal: This process's portal.
        record: Record of the cluster's head.

    Returns:
        The cluster; None if it has ended, or has failed and its head only keeps the reason.
    """
    try:
        connection = await portal.worlds.reach(record)
    except Unreachable:  # its head has just ended
        return None
    info = await portal.worlds.info(record, SOON_S)
    has_ended = connection.closed if info is None else info.state in ENDED
    return None if has_ended else Cluster(portal, connection)


async def _clusters(portal: Portal) -> list[Cluster]:
    found = await asyncio.gather(*(usable(portal, record) for record in portal.worlds.running()))
    return [cluster for cluster in found if cluster is not None]
