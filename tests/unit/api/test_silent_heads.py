"""A head that hangs or has just ended, and clusters of others beside it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from dtrain_lab.api.start import _clusters
from dtrain_lab.errors import Unreachable
from dtrain_lab.kernel.session import MagicsSession
from dtrain_lab.services.notebook_clusters import UsedCluster
from dtrain_lab.wire import VERSION
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.processes.head_record import HeadRecord
from tests.fakes.clusters import cluster


class Worlds:
    """Clusters in the states of their names; "hangs" says nothing, "ends" does meanwhile, "gone" has."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.held: set[str] = set()
        self.asked: list[str] = []
        self.limits: set[float] = set()
        self.all_asked = asyncio.Event()

    def running(self) -> list[HeadRecord]:
        return [HeadRecord(name, name, "here", "/d", 0.0, VERSION) for name in self.names]

    async def reach(self, record: HeadRecord) -> Any:
        if record.name == "gone":
            raise Unreachable("It has ended.", code="ended")
        return SimpleNamespace(name=record.name, id=record.id, record=record, closed=record.name == "ends")

    async def info(self, record: HeadRecord, within_s: float = 30.0) -> Cluster | None:
        self.asked.append(record.name)
        self.limits.add(within_s)
        if len(self.asked) == len([name for name in self.names if name != "gone"]):
            self.all_asked.set()
        await asyncio.wait_for(self.all_asked.wait(), 20)  # at the same time
        silent = record.name in ("hangs", "ends")
        return None if silent else replace(cluster(), name=record.name, state=record.name)  # type: ignore[arg-type]


def portal(worlds: Worlds) -> Any:
    return SimpleNamespace(worlds=worlds, call=asyncio.run)


def test_the_list_has_what_may_run_and_waits_for_none_of_them_long() -> None:
    worlds = Worlds("ready", "hangs", "gone", "failed", "ends")
    found = asyncio.run(_clusters(portal(worlds)))
    assert [one.name for one in found] == ["ready", "hangs"]
    assert max(worlds.limits) <= 3


@pytest.mark.parametrize(("own", "used"), [("ready", "ready"), ("failed", None)])
def test_a_notebook_asks_no_head_but_its_own(
    own: str, used: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    worlds = Worlds(own)
    session = object.__new__(MagicsSession)
    session.debugger = session._current = session._ended = None
    session.portal = portal(worlds)
    session._use = SimpleNamespace(recorded=UsedCluster(own))  # type: ignore[assignment]
    monkeypatch.setattr(MagicsSession, "_use_running", lambda _, name, __: name)
    monkeypatch.setattr(worlds, "running", Worlds("hangs", own, "pending").running)
    assert session._own() == used
    assert worlds.asked == [own]
    assert max(worlds.limits) <= 3
    assert session._own(failed=True) == own
