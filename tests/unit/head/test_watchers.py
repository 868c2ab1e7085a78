"""Who is notified of a world's changes."""

from __future__ import annotations

from typing import Any

from dtrain_lab.head.watchers import Watchers
from dtrain_lab.wire import clients
from tests.fakes.clusters import cluster


class Queues:
    """Keeps who was sent something."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def keeps_up(self, client: bytes) -> bool:
        return True

    def send(self, client: bytes, frame: Any) -> None:
        self.sent.append(client)

    def take(self) -> list[bytes]:
        sent, self.sent = self.sent, []
        return sent


async def test_a_client_that_waits_for_the_end_is_notified_of_nothing_else() -> None:
    queues: Any = Queues()
    ends: list[bool] = []
    made: list[None] = []

    def snapshot() -> Any:
        made.append(None)
        return cluster()

    watchers = Watchers(queues, snapshot, lambda: bool(ends), 0.25)
    await watchers.watch(b"end", clients.Watch(3600.0, end_only=True))
    watchers.moved()
    watchers.notify()
    assert (queues.take(), made) == ([], []), "no snapshot is made for it"
    await watchers.watch(b"all", clients.Watch(3600.0))
    watchers.moved()
    watchers.notify()
    assert queues.take() == [b"all"]
    ends.append(True)
    watchers.moved()
    watchers.notify()
    assert sorted(queues.take()) == [b"all", b"end"]
    await watchers.watch(b"end", clients.Watch(0.0))
    watchers.moved()
    watchers.notify()
    assert queues.take() == [b"all"]
