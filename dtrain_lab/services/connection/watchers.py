"""Watchers of a cluster's state: the subscription at the head, and whom this client then calls."""

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
PERIOD_S = 0.5
"""Shortest time between updates after a reconnect, until the subscription is renewed."""


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

    def add(self, changed: Callable[[Cluster], None], period_s: float) -> None:
        """Call `changed` on changes, at most every `period_s` seconds, until the connection closes."""
        self._called.append(changed)
        if self._renewer is None:
            self._renewer = supervision.here().start_loop("client.watch", partial(self._renew, period_s))

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
            await self._connection.ask_head(clients.Watch(PERIOD_S))

    def close(self) -> None:
        """Stop renewing the subscription."""
        if self._renewer is not None:
            self._renewer.cancel()
            self._renewer = None

    async def _renew(self, period_s: float) -> None:
        while not self._connection.closed:
            with contextlib.suppress(DtrainError):  # the head is slow, or not up yet
                await self._connection.ask(clients.Watch(period_s))
            await asyncio.sleep(RENEW_S)
