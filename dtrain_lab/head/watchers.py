"""Clients that watch a world: notified of changes, and at the period that each asked for."""

from __future__ import annotations

import time
from collections.abc import Callable

from dtrain_lab.head.cells.client_queues import ClientQueues
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster

FORGET_S = 10.0


class Watchers:
    """Notifies clients of changes with the next tick, and otherwise at each client's own period.

    Args:
        client_queues: Output queues of the clients.
        cluster: Makes the current snapshot of the world.
        tick_s: Seconds between calls of `notify`.
    """

    def __init__(self, client_queues: ClientQueues, cluster: Callable[[], Cluster], tick_s: float) -> None:
        self._client_queues = client_queues
        self._cluster = cluster
        self._tick_s = tick_s
        self._watchers: dict[bytes, tuple[float, float, float]] = {}
        """Client → period in seconds, when it last asked, when it was last notified (monotonic seconds)."""
        self._changed = False

    async def watch(self, client: bytes, order: clients.Watch) -> None:
        """Start, renew or (with a period of 0 s) end a client's watch.

        Args:
            client: Socket identity of the client.
            order: The request, with the least time between two notifications in seconds.
        """
        if order.period_s <= 0:
            self._watchers.pop(client, None)
        else:
            told = self._watchers.get(client, (0.0, 0.0, 0.0))[2]
            self._watchers[client] = (order.period_s, time.monotonic(), told)

    def moved(self) -> None:
        """The world has a new state: notify watchers with the next tick."""
        self._changed = True

    def notify(self) -> None:
        """Notify the clients that are due."""
        now = time.monotonic()
        changed, self._changed = self._changed, False
        due = []
        for client, (period, asked, told) in list(self._watchers.items()):
            if now - asked > FORGET_S:
                del self._watchers[client]
            elif changed or now - told >= period - self._tick_s / 2:
                due.append(client)
                self._watchers[client] = (period, asked, now)
        if due:
            frame = clients.encode(clients.Changed(self._cluster()))
            for client in due:
                if self._client_queues.keeps_up(client):
                    self._client_queues.send(client, frame)
