"""Waits until a world that starts can run cells."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from dtrain_lab.errors import StartFailed
from dtrain_lab.services.connection import Connection
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster

READY_WITHIN_S = 300.0


async def ready(connection: Connection, on_change: Callable[[Cluster], None] | None = None) -> Cluster:
    """Wait until a world can run cells.

    Args:
        connection: Connection to its head.
        on_change: Called with the cluster's state while it starts.

    Raises:
        StartFailed: The world ended before it was ready; the message says why.
    """
    until = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < until:
        cluster: Cluster = await connection.ask(clients.Info())
        if cluster.state == "pending":  # no timeout while the job is queued
            until = time.monotonic() + READY_WITHIN_S
        if on_change is not None:
            on_change(cluster)
        if cluster.state == "ready":
            return cluster
        if cluster.state in ("failed", "stopping", "stopped"):
            text, hint = cluster.summary.text, ""
            if cluster.reason is not None:
                hint = cluster.reason.hint
                if cluster.reason.message.rstrip(".") not in text:
                    text = f"{text} {cluster.reason.message}"
            raise StartFailed(text, hint, details={"id": cluster.id})
        await asyncio.sleep(0.02)
    raise StartFailed(f"{connection.name} was not ready in {READY_WITHIN_S:.0f} s.", "See its log.")
