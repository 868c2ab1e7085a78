"""What a cluster's head does as its ranks, agents and clients speak: no socket, no process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from dtrain_lab.errors import Conflict
from dtrain_lab.head import lock_holders
from dtrain_lab.head.metrics import snapshot as snapshots
from dtrain_lab.machine import processes, supervision
from dtrain_lab.wire import clients, links
from dtrain_lab.wire.processes.head_record import HeadRecord
from dtrain_lab.world import events as on
from tests.fakes.head import IDLE_S, SERVER, Owned

ELSEWHERE = "another-boot pid:[4026531836]"
Make = Callable[..., Owned]


@pytest_asyncio.fixture
async def make(tmp_path: Path) -> AsyncIterator[Make]:
    made: list[Owned] = []

    def one(ranks: int = 2, nodes: int = 1, *, remote: bool = True) -> Owned:
        made.append(Owned(tmp_path, ranks, nodes, remote=remote))
        return made[-1]

    yield one
    for owned in made:
        owned.close()
    await supervision.here().close()


async def test_its_record_names_the_server_of_the_client_that_launched_it(make: Make, tmp_path: Path) -> None:
    """With that server's start time: a warm head may be older, and another server's."""
    make()
    record = msgspec.json.decode((tmp_path / "record").read_bytes(), type=HeadRecord)
    assert (record.server, record.server_started) == (SERVER.pid, SERVER.started)


def not_run(owned: Owned, cell: str) -> str:
    """Why a cell did not run; empty where it has not ended."""
    known = owned.cells.find(cell)
    assert known is not None
    return known.result.sentence if known.result is not None else ""


@pytest.mark.asyncio
async def test_an_interrupt_withdraws_waiting_cells_of_its_ranks_only(make: Make) -> None:
    world = make(4)
    world.run("a", 0, 1)
    world.run("b", 2, 3)
    world.run("a2", 0)
    world.run("b2", 3)
    await world.ask(clients.Interrupt(ranks=(0, 1)))
    assert not_run(world, "a2") == "This cell was not run. It was interrupted while queued."
    assert not_run(world, "b2") == ""


@pytest.mark.asyncio
async def test_a_waiting_cell_does_not_run_where_no_group_could_be_formed(make: Make) -> None:
    world = make()
    world.run("a", 0, 1)
    world.run("b", 0, 1)
    world.owned.happened(on.InterruptAsked((0, 1)))
    world.replies("a", 0, 1, kind="interrupted")
    assert world.owned.phase == "rebuilding"
    world.owned.happened(on.GroupFailed(1, world.owner.state.generation, "refused"))
    assert world.began("b") == ()
    assert not_run(world, "b") == "This cell was not run. Rank 1 could not connect: refused"


@pytest.mark.asyncio
async def test_a_cell_waits_for_a_rank_that_has_not_joined_yet(make: Make) -> None:
    world = make(3)
    world.owned.happened(on.RestartAsked((1,)))
    world.dies(1)
    world.dies(2)
    assert world.owned.phase == "degraded"
    world.run("a", 0, 1)
    world.run("b", 0)
    assert world.began("a") == ()
    world.joins(1)
    assert world.began("a") == (0, 1)
    world.replies("a", 0, 1)
    assert world.began("b") == (0,)


@pytest.mark.asyncio
async def test_a_views_call_is_refused_where_a_rank_is_lost_while_it_waits(make: Make) -> None:
    world = make()
    world.run("a", 0, 1)
    asked = asyncio.ensure_future(world.ask(clients.AcquireRanks("view", 1, (1,), ELSEWHERE)))
    await asyncio.sleep(0)
    world.dies(1)
    world.replies("a", 0, kind="interrupted")
    with pytest.raises(Conflict, match="Rank 1 was lost"):
        await asyncio.wait_for(asked, 20)
    assert not world.cells.busy
    world.owned.happened(on.RestartAsked((1,)))
    world.joins(1)
    world.forms()
    world.run("b", 0, 1)
    assert world.began("b") == (0, 1), "its ranks were released"


@pytest.mark.asyncio
async def test_a_views_call_waits_for_its_turn_and_is_renewed_with_a_rank_lost(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_holders, "RANKS_HELD_S", 0.0)  # it would expire at once
    world = make()
    world.run("a", 0, 1)
    order = clients.AcquireRanks("view", 1, (0, 1), ELSEWHERE)
    asked = asyncio.ensure_future(world.ask(order))
    for _ in range(5):
        await asyncio.sleep(0)
    monkeypatch.setattr(lock_holders, "RANKS_HELD_S", 60.0)
    world.replies("a", 0, 1)
    await asyncio.wait_for(asked, 20)
    world.dies(1)
    await world.ask(order)
    assert world.cells.running_views() == ["view"]
    await world.ask(clients.ReleaseRanks("view"))
    assert not world.cells.busy


@pytest.mark.asyncio
@pytest.mark.parametrize("how", ["given back", "its process ends"])
async def test_a_views_call_that_leaves_the_queue_leaves_nothing_behind(make: Make, how: str) -> None:
    world = make()
    world.run("a", 0, 1)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        order = clients.AcquireRanks("view", process.pid, (0, 1), processes.system())
        asked = asyncio.ensure_future(world.ask(order))
        await asyncio.sleep(0)
        if how == "given back":
            await world.ask(clients.ReleaseRanks("view"))
        process.kill()
    await asyncio.wait_for(asked, 20)
    world.replies("a", 0, 1)
    assert not world.cells.busy


def idle(world: Owned) -> bool:
    """Whether the world's idle time runs."""
    return world.owned.lifetime.ends_at is not None


def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The snapshot's clock, which the test moves."""
    now = [1e6]
    monkeypatch.setattr(snapshots, "time", SimpleNamespace(time=lambda: now[0], monotonic=lambda: now[0]))
    return now


@pytest.mark.asyncio
async def test_a_views_call_is_not_idle(make: Make) -> None:
    world = make()
    assert idle(world)
    await world.ask(clients.AcquireRanks("view", 1, (0, 1), ELSEWHERE))
    assert not idle(world)
    await world.ask(clients.ReleaseRanks("view"))
    assert idle(world)


@pytest.mark.asyncio
async def test_idle_time_counts_from_the_end_of_the_last_cell_however_it_ended(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = clock(monkeypatch)
    world = make()
    now[0] += IDLE_S - 1
    world.run("a", 0, 1)
    now[0] += IDLE_S
    assert world.snapshot.idle_s == 0.0
    world.dies(0, 1)  # the cell hung: somebody restarts all ranks
    world.owned.happened(on.RestartAsked((0, 1)))
    world.joins(0, 1)
    world.forms()
    world.owned.lifetime.check_idle()
    assert (world.owned.phase, world.snapshot.idle_s) == ("ready", 0.0)
    world.run("b", 0, 1)
    world.replies("b", 0)
    world.dies(1)
    now[0] += 5
    assert world.snapshot.idle_s == 5.0


@pytest.mark.asyncio
async def test_idle_time_counts_from_a_restart(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    now = clock(monkeypatch)
    world = make()
    now[0] += IDLE_S - 1
    world.owned.happened(on.RestartAsked((0, 1)))
    world.dies(0, 1)
    world.joins(0, 1)
    now[0] += 5
    world.forms()
    world.owned.lifetime.check_idle()
    assert (world.owned.phase, world.snapshot.idle_s) == ("ready", 0.0)


@pytest.mark.asyncio
async def test_the_hint_names_each_lost_rank_once_and_none_that_is_back(make: Make) -> None:
    world = make(4)
    world.dies(2)
    world.owned.happened(on.RestartAsked((2,)))
    world.joins(2)
    world.dies(2, 3)
    assert said(world) == "%distributed restart 2-3"
    world.owned.happened(on.RestartAsked((2,)))
    world.joins(2)
    assert said(world) == "%distributed restart 3"


def said(world: Owned) -> str:
    """The command in the world's hint."""
    reason = world.owner.cluster().reason
    assert reason is not None
    return reason.hint.partition(": ")[2].partition(".")[0]


@pytest.mark.asyncio
async def test_a_restart_while_another_rank_is_lost_says_what_is_left_to_do(make: Make) -> None:
    world = make(4)
    world.dies(2, 3)
    asked = asyncio.ensure_future(world.ask(clients.Restart(ranks=(3,))))
    await asyncio.wait_for(world.owned.membership.until(lambda s: s.phase == "rebuilding"), 20)
    world.joins(3)
    with pytest.raises(Conflict, match="Rank 2 was lost") as refused:
        await asyncio.wait_for(asked, 20)
    assert "%distributed restart 2." in refused.value.hint
    asked = asyncio.ensure_future(world.ask(clients.Restart(ranks=(2,))))
    await asyncio.wait_for(world.owned.membership.until(lambda s: s.phase == "rebuilding"), 20)
    world.joins(2)
    world.forms()
    assert (await asyncio.wait_for(asked, 20)).state == "ready"


@pytest.mark.asyncio
async def test_a_rank_that_is_deaf_keeps_no_cells_of_other_ranks(make: Make) -> None:
    world = make(4)
    world.dies(3)
    world.run("a", 0, 1)
    world.run("b", 2)
    world.run("c", 2)
    world.owned.happened(on.InterruptAsked((0, 1)))
    world.replies("a", 1, kind="interrupted")
    world.owned.happened(on.TimerFired("abort"))
    world.owned.happened(on.TimerFired("deaf"))
    assert world.owner.state.deaf == (0,)
    world.replies("b", 2)
    assert world.began("c")


async def test_values_of_an_earlier_cell_end_with_it(make: Make) -> None:
    """As found: the chart of `epoch`, which only the cell before had logged, went on through the next run."""
    world = make(3)

    def values() -> dict[str, Any]:
        return world.owned.collector.metrics(world.owner.state).values

    world.run("a", 0, 1, 2)
    world.owner.received(b"r0", links.ValuesLogged(0, 30, 1.0, {"loss": 0.5, "epoch": 2}), b"")
    world.replies("a", 0, 1, 2)
    assert values() == {"loss": 0.5, "epoch": 2, "step": 30}, "until another begins"
    world.run("on others", 1, 2)
    assert values() == {"loss": 0.5, "epoch": 2, "step": 30}
    world.replies("on others", 1, 2)
    world.run("b", 0, 1, 2)
    assert values() == {}
    world.owner.received(b"r0", links.ValuesLogged(0, 5, 2.0, {"loss": 0.7}), b"")
    assert values() == {"loss": 0.7, "step": 5}


async def test_it_is_known_of_each_value_whether_it_is_a_mean(make: Make) -> None:
    """As found: the page could only say "rank 0, or the mean if averaged"."""
    world = make(2)

    def averaged() -> tuple[str, ...] | None:
        return world.owned.collector.metrics(world.owner.state).averaged

    assert averaged() == ()
    world.run("a", 0, 1)
    world.owner.received(b"r0", links.ValuesLogged(0, 1, 1.0, {"loss": 0.5, "lr": 0.1}), b"")
    assert averaged() == ()
    world.owner.received(b"r0", links.ValuesLogged(0, 2, 2.0, {"loss": 0.4}, averaged=True), b"")
    assert averaged() == ("loss",)
    world.owner.received(b"r0", links.ValuesLogged(0, 3, 3.0, {"loss": 0.3}), b"")
    assert averaged() == ()
