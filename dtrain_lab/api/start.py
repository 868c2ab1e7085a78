"""Starting and finding clusters: `start`, `clusters`, `connect`."""

from __future__ import annotations

import sys
from collections.abc import Callable

from dtrain_lab.api.cluster import Cluster
from dtrain_lab.api.portal import Portal
from dtrain_lab.api.validation import checked
from dtrain_lab.services.worlds import readiness
from dtrain_lab.wire.cluster import Cluster as ClusterInfo
from dtrain_lab.wire.plan import Request


def start(
    profile: str = "local",
    ranks: int | None = None,
    name: str | None = None,
    *,
    nodes: int | None = None,
    ranks_per_node: int | None = None,
    monitor: bool | None = None,
    told: Callable[[ClusterInfo], None] | None = None,
) -> Cluster:
    """Start a cluster and wait until it is ready.

    Args:
        profile: Name of the profile to run with.
        ranks: Number of ranks; by default one per GPU, or two on a machine without GPUs.
        name: Name of the cluster; by default made from profile and size.
        nodes, ranks_per_node: Size, instead of `ranks`.
        monitor: Whether to monitor steps and communication; by default the profile's setting.
        told: Called with the cluster's state while it starts, in another thread.

    Raises:
        BadSize, BadProfile, NotFound, Conflict, EnvironmentUnfit: Nothing was started.
        StartFailed: The cluster ended before it was ready.
    """
    portal = Portal.get()
    request = Request(profile, ranks, nodes, ranks_per_node, name, monitor, python=sys.executable)
    checked("dt.start", request)
    return portal.call(_start(portal, request, told))


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
    checked("dt.start_async", request)
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
    connection = await portal.worlds.begin(request)
    await readiness.ready(connection, told)
    return Cluster(portal, connection)


async def _clusters(portal: Portal) -> list[Cluster]:
    return [Cluster(portal, await portal.worlds.reach(record)) for record in portal.worlds.running()]
