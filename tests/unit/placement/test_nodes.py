"""Nodes of a cluster as its head sees them: silent ones, and ones that a resize left without ranks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import pytest_asyncio

from dtrain_lab.head.nodes import nodes as head_nodes
from dtrain_lab.machine import supervision
from dtrain_lab.wire import links
from tests.fakes.head import Owned


@pytest_asyncio.fixture
async def two(tmp_path: Path) -> AsyncIterator[Owned]:
    """Two nodes of one rank."""
    owned = Owned(tmp_path, 1, 2)
    yield owned
    owned.close()
    await supervision.here().close()


@pytest.mark.asyncio
async def test_a_node_that_a_resize_removed_may_fall_silent_and_come_back(
    two: Owned, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1e6]
    monkeypatch.setattr(head_nodes, "time", SimpleNamespace(monotonic=lambda: now[0]))
    for node in range(2):
        two.owner.received(b"n%d" % node, links.Samples(node=node, samples=(), host=None), b"")
    two.resizes(1)
    two.forms()
    now[0] += 2 * head_nodes.SILENT_S
    two.owned.nodes.note_alive(0)
    two.owned.nodes.check_silence()
    two.owner.received(b"n1b", links.NodeHello(1, "node1", 99), b"")
    assert two.owned.phase == "ready"
    two.resizes(2)
    two.owned.nodes.check_silence()
    two.joins(1)
    two.forms()
    assert (two.owned.phase, two.owner.state.size) == ("ready", 2)


@pytest.mark.asyncio
async def test_an_own_agent_without_ranks_is_started_again(
    two: Owned, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[int, str]] = []
    nodes = two.owned.nodes
    monkeypatch.setattr(nodes._own, "start", lambda node, name, *_, **__: started.append((node, name)))
    nodes.start(1, "node1", 0, {})
    two.resizes(1)
    two.forms()
    nodes._own_ended(1, -9)
    assert started == [(1, "node1")] * 2
    assert two.owned.phase == "ready"


@pytest.mark.asyncio
async def test_all_ranks_have_one_master_port_also_after_a_restart(two: Owned) -> None:
    two.dies(1)
    two.owned.ranks.fork((1,))
    specs = [spec for _, m in two.told if isinstance(m, links.Fork) for spec in m.ranks]
    assert [spec.rank for spec in specs] == [0, 1, 1]
    assert len({spec.master_port for spec in specs}) == 1
