"""ipyparallel's controller on demand: who starts it, whom it waits for, and what is said where that fails."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from dtrain_lab.errors import Conflict
from dtrain_lab.head.nodes import engines
from dtrain_lab.machine import supervision
from dtrain_lab.wire import clients, links
from tests.fakes.head import Owned


class Head(Owned):
    """A head whose controller is this object, and whose ranks register when they are told to."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, 3, remote=False)
        self.ipp = folder / "ipp"

    def of(self, kind: type) -> list[Any]:
        """Messages of a type that were sent: to whom."""
        return [peer for peer, message in self.told if isinstance(message, kind)]

    async def view(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(
            await self.owner.handlers[clients.Engines](b"c", clients.Engines())
        )
        return answer

    def listens(self) -> None:
        """The controller writes its connection files."""
        (self.ipp / "security").mkdir(parents=True, exist_ok=True)
        for name in ("engine", "client"):
            (self.ipp / "security" / f"ipcontroller-{name}.json").write_text(json.dumps({"for": name}))

    def registers(self, *ranks: int, error: str = "", known: bool = True) -> None:
        """Ranks answer, and the controller knows them after two heartbeats."""
        for rank in ranks:
            pid = self.owned.pid(rank)
            assert pid is not None
            report = links.Registered(rank, pid, engine=f"engine {pid}", error=error)
            self.owner.received(b"r%d" % rank, report, b"")
        if known:
            (self.ipp / "log").mkdir(exist_ok=True)
            every = {m.rank: f"engine {m.pid}" for m in self.owner.state.members}
            (self.ipp / "log" / "engines.json").write_text(json.dumps({"engines": every}))

    def controller_ends(self, last: str = "", how: str = "") -> None:
        self.owner.received(b"n0", links.Exited(links.CONTROLLER, 9, 1, last=last, how=how), b"")


@pytest_asyncio.fixture
async def head(tmp_path: Path) -> AsyncIterator[Head]:
    made = Head(tmp_path)
    yield made
    made.owner._engines.close()
    made.close()
    await supervision.here().close()


async def told(head: Head, kind: type, count: int) -> None:
    """Wait until that many messages of a type were sent."""
    async with asyncio.timeout(20):
        while len(head.of(kind)) < count:
            await asyncio.sleep(0.01)
    assert len(head.of(kind)) == count


@pytest.mark.asyncio
async def test_a_cluster_begins_without_a_controller_and_requests_at_once_start_one(
    head: Head,
) -> None:
    assert head.owned.phase == "ready"
    assert head.of(links.ForkController) == head.of(links.Register) == []
    views = [asyncio.ensure_future(head.view()) for _ in range(3)]
    await told(head, links.ForkController, 1)
    head.listens()
    await told(head, links.Register, 3)
    head.registers(0, 2)
    views.append(asyncio.ensure_future(head.view()))
    await asyncio.sleep(0)
    assert not any(view.done() for view in views)
    head.registers(1)
    assert await asyncio.gather(*views) == [{"for": "client", "begun": 1}] * 4
    assert head.of(links.ForkController) == [b"n0"]
    assert await head.view() == {"for": "client", "begun": 1}
    assert "head.controller" not in supervision.here().names


@pytest.mark.asyncio
async def test_new_processes_register_and_lost_ones_are_not_waited_for(
    head: Head,
) -> None:
    view = asyncio.ensure_future(head.view())
    await told(head, links.ForkController, 1)
    head.dies(2)
    head.listens()
    await told(head, links.Register, 2)
    head.registers(0, 1)
    await view
    head.told.clear()
    head.joins(1)
    assert head.of(links.Register) == [b"r1"], "one that was replaced"
    view = asyncio.ensure_future(head.view())
    await asyncio.sleep(0)
    assert not view.done()
    head.registers(1)
    await view


@pytest.mark.asyncio
async def test_what_fails_is_told_in_words_and_the_next_request_tries_again(
    head: Head, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = asyncio.ensure_future(head.view())
    await told(head, links.ForkController, 1)
    head.controller_ends("Traceback\nOSError: no memory\n")
    with pytest.raises(Conflict, match="ended as it started: OSError: no memory"):
        await view
    assert head.owned.phase == "ready", "cells don't need it"

    view = asyncio.ensure_future(head.view())
    await told(head, links.ForkController, 2)
    head.listens()
    await told(head, links.Register, 3)
    head.registers(0, 2)
    head.registers(1, error="TimeoutError: ", known=False)
    with pytest.raises(Conflict, match="Rank 1 could not register with ipyparallel: TimeoutError"):
        await view

    head.told.clear()
    monkeypatch.setattr(engines, "QUIET_S", 0.05)
    with pytest.raises(Conflict, match=r"Rank 1 has not registered with ipyparallel in 0 s\."):
        await head.view()
    assert head.of(links.Register) == [b"r1"]
    head.registers(1)
    await head.view()


@pytest.mark.asyncio
async def test_one_that_clients_know_is_restarted_and_counted(
    head: Head, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dtrain_lab.head.nodes.controller.AGAIN_AFTER_S", 0.001)
    view = asyncio.ensure_future(head.view())
    await told(head, links.ForkController, 1)
    head.listens()
    await told(head, links.Register, 3)
    head.registers(0, 1, 2)
    await view
    head.controller_ends()
    await told(head, links.ForkController, 2)
    assert (await head.view())["begun"] == 2
    # a node agent that was killed took it with it, and the new one can fork
    head.owner.received(b"n0", links.NodeHello(0, "node0", 70), b"")
    assert len(head.of(links.ForkController)) == 2
    head.owner.received(b"n0", links.Preloaded(0, 1.0, "2.13.0"), b"")
    await told(head, links.ForkController, 3)
    head.owned.stop()
    with pytest.raises(Conflict, match="The cluster has ended"):
        await head.view()


@pytest.mark.asyncio
async def test_too_few_ports_fail_the_view_and_not_the_start(
    head: Head, monkeypatch: pytest.MonkeyPatch
) -> None:

    def none_free() -> None:
        raise OSError("16 free ports are needed at 10.0.0.1, but only 3 are available")

    monkeypatch.setattr(head.owner._engines, "_make", none_free)
    with pytest.raises(Conflict, match="only 3 are available"):
        await head.view()
