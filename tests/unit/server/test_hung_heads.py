"""A head that hangs delays neither the leases of other clusters nor what a page is shown of them."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dtrain_lab.errors import Unreachable
from dtrain_lab.machine import supervision
from dtrain_lab.server import live
from dtrain_lab.server.live import Hub
from dtrain_lab.services import paths
from dtrain_lab.services.connection import head_records
from dtrain_lab.services.worlds.open_connections import OpenConnections
from dtrain_lab.wire import VERSION, clients
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.processes.head_record import HeadRecord
from tests.fakes.clusters import cluster

HUNG = ("hung 1", "hung 2")


class Connection:
    """A connection to a head, which may hang."""

    closed = False

    def __init__(self, identity: str) -> None:
        self.id = identity
        self.on_close: list[Callable[[], None]] = []
        self.watches: list[bool] = []
        self.hangs = identity in HUNG
        self.given_up = asyncio.Event()
        """Set when requests to a head that hangs time out."""

    async def answer(self) -> None:
        """Wait as for the answer to a request."""
        if self.hangs:
            await self.given_up.wait()
            raise Unreachable(f"{self.id} did not answer in 30 s.", "")

    async def ask(self, body: clients.Info) -> Any:
        await self.answer()
        return replace(cluster(), id=self.id, name=self.id, state="starting")

    def watch(self, changed: Any, period_s: float, *, end_only: bool = False) -> None:
        self.watches.append(end_only)

    async def unwatch(self, changed: Any = None) -> None:
        await self.answer()


class Worlds:
    """Two heads that hang, and one started after them."""

    def __init__(self) -> None:
        self.heads = {name: Connection(name) for name in (*HUNG, "works")}
        self.asked = Counter[str]()
        self.held = Counter[str]()
        self.renewed = asyncio.Event()
        """Set when the third one's lease has been renewed."""

    def running(self) -> list[HeadRecord]:
        pid = os.getpid()
        return [HeadRecord(n, n, "", float(i), VERSION, server=pid) for i, n in enumerate(self.heads)]

    async def reach(self, record: HeadRecord) -> Connection:
        return self.heads[record.id]

    async def take_lease(self, connection: Connection) -> Cluster:
        self.asked[connection.id] += 1
        await connection.answer()
        self.held[connection.id] += 1
        if self.held["works"] == 3:
            self.renewed.set()
        return replace(cluster(), id=connection.id, name=connection.id, state="ready")


@pytest.fixture
def worlds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Worlds:
    there = Worlds()
    monkeypatch.setattr(paths, "records", lambda: tmp_path)
    monkeypatch.setattr(head_records, "living", there.running)
    monkeypatch.setattr(live, "FIRST_ANSWER_S", 0.01)
    monkeypatch.setattr(live, "RENEW_S", 0.001)
    return there


def made(worlds: Any) -> Hub:
    class Jobs:
        async def listing(self, most: int) -> list[Any]:
            return []

    class Log:
        def warning(self, *_: Any) -> None: ...

    jobs: Any = Jobs()
    return Hub(worlds, jobs, 1.0, Log(), "/")


async def test_other_clusters_are_leased_while_heads_hang(worlds: Worlds) -> None:
    hub = made(worlds)
    hub.start()
    async with asyncio.timeout(10):
        await worlds.renewed.wait()
        assert worlds.asked["hung 1"] == worlds.asked["hung 2"] == 1, "each waits for one answer"
        assert [cluster.id for cluster in hub.clusters()] == ["works"], "it is watched, too"
        while not (paths.records() / "works.ran").exists():  # with no page open, only its lease tells that
            await asyncio.sleep(0)
        worlds.heads["hung 1"].given_up.set()
        while worlds.asked["hung 1"] < 2:  # asked again after it was given up
            await asyncio.sleep(0)
    hub.stop()
    await supervision.here().close()


async def test_a_page_is_shown_the_others_and_one_that_answers_again(worlds: Worlds) -> None:
    hub, page = made(worlds), asyncio.Event()
    async with asyncio.timeout(10):
        hub.add(page)
        await hub.refresh()
        assert [cluster.id for cluster in hub.clusters()] == ["works"]
        worlds.heads["hung 2"].hangs = False
        worlds.heads["hung 2"].given_up.set()
        while len(hub.clusters()) < 2:
            page.clear()
            await page.wait()
        worlds.heads["hung 2"].hangs = True
        worlds.heads["hung 2"].given_up.clear()
        leaving = asyncio.ensure_future(hub.remove(page))
        while worlds.heads["works"].watches != [False, True]:  # from now on for its end only
            await asyncio.sleep(0)
        assert worlds.heads["hung 2"].watches == [False]
        worlds.heads["hung 2"].given_up.set()
        await leaving
        assert worlds.heads["hung 2"].watches == [False, True]
    hub.stop()
    await supervision.here().close()


async def test_leases_are_released_at_all_heads_at_once() -> None:
    """One that hangs takes its time limit, in which a server that ends may be killed."""
    both, asked = asyncio.Event(), []

    class Head:
        closed = False

        async def ask(self, body: clients.Release, within_s: float) -> None:
            asked.append(body)
            if len(asked) == 2:
                both.set()
            await both.wait()
            if self is hangs:
                raise Unreachable("It did not answer.", "")

        def close(self) -> None:
            self.closed = True

    heads: Any = {"hangs": Head(), "works": Head()}
    hangs = heads["hangs"]
    there = OpenConnections()
    there._open = heads
    async with asyncio.timeout(10):
        await there.release(clients.Lease("server", "box", 1, 0.0))
    assert [head.closed for head in heads.values()] == [False, True]
