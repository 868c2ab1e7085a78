"""What a server keeps for the next one: on disk, between servers of one user, and who counts as told."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from dtrain_lab.machine import supervision
from dtrain_lab.server.ended_clusters import EndedClusters
from dtrain_lab.server.kept_ends import KeptEnds
from dtrain_lab.server.live import Hub
from dtrain_lab.services import endings, paths
from dtrain_lab.services.connection import head_records
from dtrain_lab.services.worlds import last_states
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.endings import Ending
from dtrain_lab.wire.summary import Summary
from tests.fakes.clusters import cluster

NOW = time.time()
"""Of ends that are kept: those of more than a week ago are forgotten."""


@pytest.fixture(autouse=True)
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "records", lambda: tmp_path)
    return tmp_path


def named(name: str) -> Cluster:
    return replace(cluster(), id=name, name=name, state="ready")


class Server:
    """A server's memory of ends, without sockets."""

    def __init__(self) -> None:
        self.ended = EndedClusters()
        self.keeper = KeptEnds(self.ended)

    async def round(self, *watched: str) -> list[str]:
        """What it does every second; returns what it tells a page."""
        await self.keeper.recall(watched)
        await self.keeper.save()
        return [c.id for c in self.ended.untold]


def run(*names: str) -> None:
    """Records of heads as of another host, which lives as far as anybody knows."""
    for name in names:
        head_records.path_of(name).write_text("{}")


async def test_a_server_tells_what_ended_before_it_began_until_a_page_was_told(records: Path) -> None:
    before = Server()
    run("runs")
    for name in ("killed", "stopped", "runs"):
        before.ended.seen(named(name))
    await before.round()
    endings.note("stopped", Ending("terminal", at=1.0))
    (records / "odd.ran").write_text("of another version")
    server = Server()
    assert await server.round() == ["killed"]
    assert {p.name for p in records.glob("*.ran")} == {"killed.ran", "runs.ran"}
    assert await Server().round() == ["killed"], "no page was told"
    server.ended.tell()
    await server.round()
    assert await Server().round() == []
    head_records.path_of("runs").unlink()
    assert await server.round() == ["killed", "runs"], "one that it does not watch"


async def test_what_another_server_has_told_or_stopped_is_not_told_again() -> None:
    other, server = Server(), Server()
    run("a", "b")
    other.ended.seen(named("a"))
    other.ended.seen(named("b"))
    await other.round()
    assert await server.round() == []
    other.ended.stopped(["a"])
    other.ended.gone("b", told=True)
    await other.round()
    for name in ("a", "b"):
        head_records.path_of(name).unlink()
    assert await server.round() == []


async def test_what_a_server_watches_it_learns_by_itself() -> None:
    before, server = Server(), Server()
    before.ended.seen(named("a"))
    await before.round()
    assert await server.round("a") == []
    server.ended.gone("a", told=True)
    assert await server.round() == []
    assert await Server().round() == []


async def test_a_full_disk_ends_nothing(records: Path, caplog: pytest.LogCaptureFixture) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(last_states.atomic_files, "swap", full)
        server = Server()
        server.ended.seen(named("a"))
        await server.round()
    assert "No space left on device" in caplog.text


async def test_a_page_is_told_once_it_has_a_frame_if_its_user_may_act(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nothing: Any = None
    hub = Hub(nothing, nothing, 1.0, None, "/")
    monkeypatch.setattr(hub, "start", lambda: None)
    monkeypatch.setattr(hub, "_poll_jobs", asyncio.Event().wait)
    reader, owner = asyncio.Event(), asyncio.Event()
    hub.add(reader)  # has frames, too; nobody notes that
    hub.add(owner)
    for name in ("a", "b", "c"):
        hub.changed(named(name))
    hub._forget("a")
    hub.sent(owner, first=False)
    hub._forget("b")
    await hub.remove(owner)
    hub._forget("c")
    assert [c.id for c in hub._ended.untold] == ["a", "c"]
    assert list(hub._ended.unsaved()) == ["a", "c"]
    hub.sent(owner, first=True)
    assert hub._ended.unsaved() == {"a": None, "c": None}
    await hub.remove(reader)
    await supervision.here().close()


def test_a_server_tells_of_a_head_that_was_killed_in_the_frame_without_its_cluster() -> None:
    nothing: Any = None
    hub = Hub(nothing, nothing, 1.0, None, "/")
    for name in ("killed", "said"):
        hub.changed(named(name))
        endings.note(name, Ending("killed", None, NOW, name=name, log="/logs/1"))
    stopping = Summary("stopping", {"by": "terminal", "at": 8.0}, "")
    hub.changed(replace(named("said"), state="stopping", summary=stopping))
    hub._forget("killed")
    hub._forget("said")
    frame = msgspec.json.decode(hub.frame(1, acts=True, columns=False))
    assert {i: s["values"] for i, s in frame["ended"].items()} == {
        "killed": {"by": "killed", "at": NOW, "log": "/logs/1", "running": []},
        "said": {"by": "terminal", "at": 8.0},
    }


async def test_a_server_knows_ends_that_were_noted_before_it_began() -> None:
    endings.note("a", Ending("terminal", at=NOW))
    endings.note("b", Ending("idle", at=NOW - 1, idle_s=60.0))
    server = Server()
    await server.round()
    assert list(server.ended.summaries) == ["b", "a"]
