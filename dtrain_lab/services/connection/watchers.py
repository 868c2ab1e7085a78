"""Watchers of a cluster's state: the subscription at the head, and this client's callbacks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from dtrain_lab.errors import DtrainError
from dtrain_lab.machine import supervision
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster

RENEW_S = 4.0
"""A head forgets watchers that don't renew their subscription."""


class Client(Protocol):
    """The part of `connection.Connection` that watchers use."""

    closed: bool

    async def ask(self, body: clients.AnyBody) -> Any: ...
    async def ask_head(self, body: clients.AnyBody) -> Any: ...


class Watchers:
    """Functions of this process that are called with a cluster's state.

    Args:
        connection: The connection to the head.
    """

    def __init__(self, connection: Client) -> None:
        self._connection = connection
        self._called: list[Callable[[Cluster], None]] = []
        self._renewer: supervision.BackgroundTask | None = None
        self._order = clients.Watch(0.0)

    def add(self, changed: Callable[[Cluster], None], period_s: float, *, end_only: bool = False) -> None:
        """Call `changed` on changes until the connection closes.

        Args:
            changed: Called with the cluster's state.
            period_s: Least seconds between two calls, if this is the first watcher; others share its period.
            end_only: Call it only when the cluster ends, if this is the first watcher.
        """
        self._called.append(changed)
        if self._renewer is None:
            self._order = clients.Watch(period_s, end_only)
            self._renewer = supervision.here().start_loop("client.watch", partial(self._renew, self._order))

    async def remove(self, changed: Callable[[Cluster], None] | None = None) -> None:
        """Remove this watcher, or all watchers; without any, the head sends no more."""
        self._called = [w for w in self._called if changed is not None and w != changed]
        if self._renewer is not None and not self._called:
            self.close()
            await self._connection.ask(clients.Watch(0.0))

    def notify(self, cluster: Cluster) -> None:
        """Call all watchers with the cluster's state."""
        for watcher in list(self._called):
            watcher(cluster)

    async def subscribe_again(self) -> None:
        """Subscribe at the head after a reconnect, if there are watchers."""
        if self._called:
            await self._connection.ask_head(self._order)

    def close(self) -> None:
        """Stop renewing the subscription."""
        if self._renewer is not None:
            self._renewer.cancel()
            self._renewer = None

    async def _renew(self, order: clients.Watch) -> None:
        while not self._connection.closed:
            with contextlib.suppress(DtrainError):  # the head is slow, or not up yet
                await self._connection.ask(order)
            await asyncio.sleep(RENEW_S)
