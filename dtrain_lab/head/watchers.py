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
        is_ending: Whether the world ends.
        tick_s: Seconds between calls of `notify`.
    """

    def __init__(
        self,
        client_queues: ClientQueues,
        cluster: Callable[[], Cluster],
        is_ending: Callable[[], bool],
        tick_s: float,
    ) -> None:
        self._client_queues = client_queues
        self._cluster = cluster
        self._is_ending = is_ending
        self._tick_s = tick_s
        self._watchers: dict[bytes, tuple[float, float, float]] = {}
        """Client → period in seconds, when it last asked, when it was last notified (monotonic seconds)."""
        self._waiting: dict[bytes, float] = {}
        """Client that is notified of the world's end only → when it last asked (monotonic seconds)."""
        self._changed = False

    async def watch(self, client: bytes, order: clients.Watch) -> None:
        """Start, renew or (with a period of 0 s) end a client's watch.

        Args:
            client: Socket identity of the client.
            order: The request, with the least time between two notifications in seconds.
        """
        self._waiting.pop(client, None)
        if order.period_s <= 0:
            self._watchers.pop(client, None)
        elif order.end_only:
            self._watchers.pop(client, None)
            self._waiting[client] = time.monotonic()
        else:
            notified_at = self._watchers.get(client, (0.0, 0.0, 0.0))[2]
            self._watchers[client] = (order.period_s, time.monotonic(), notified_at)

    def moved(self) -> None:
        """The world has a new state: notify watchers with the next tick."""
        self._changed = True

    def notify(self) -> None:
        """Notify the clients that are due."""
        now = time.monotonic()
        changed, self._changed = self._changed, False
        due = []
        for client, (period, asked_at, notified_at) in list(self._watchers.items()):
            if now - asked_at > FORGET_S:
                del self._watchers[client]
            elif changed or now - notified_at >= period - self._tick_s / 2:
                due.append(client)
                self._watchers[client] = (period, asked_at, now)
        self._waiting = {c: asked_at for c, asked_at in self._waiting.items() if now - asked_at <= FORGET_S}
        if changed and self._waiting and self._is_ending():
            due += self._waiting
        if due:
            frame = clients.encode(clients.Changed(self._cluster()))
            for client in due:
                if self._client_queues.keeps_up(client):
                    self._client_queues.send(client, frame)
