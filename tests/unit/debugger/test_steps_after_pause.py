"""Ranks that are stepped after a pause, so that those that wait for them can stop, too."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from dtrain_lab.debugger import events, requests
from dtrain_lab.debugger.requests import Order
from dtrain_lab.debugger.state import Collective, Dap, RankView, SourceLocation, State, StepsToCollective
from dtrain_lab.debugger.view import view
from dtrain_lab.services.debugger import step_to_collective
from dtrain_lab.services.debugger.step_to_collective import Gathering

STOOD = "Paused on 1 rank. Rank 1 waits in barrier."
WAITS = {"operation": {"name": "barrier", "ranks": [0, 1]}, "sequences": {"g": 2}}


class World:
    """Rank 1 waits in a barrier for rank 0, which is paused in a sleep: a step does not end."""

    def __init__(self) -> None:
        views = (RankView(0, attached=True, phase="paused"), RankView(1, attached=True, phase="running"))
        self.state = State(ranks=views, on=True)
        self.orders: list[Order] = []

    async def ask(self, order: Order) -> dict[int, Dap]:
        if order.command == "where":
            return {r: {"body": WAITS if r else {"sequences": {"g": 1}}} for r in order.arguments}
        self.orders.append(order)
        if order.command == "pause":
            self.state = self.state.rank(0, phase="paused")
        return {r: {"success": True} for r in order.arguments}


async def test_a_rank_whose_step_does_not_end_is_paused_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    monkeypatch.setattr(step_to_collective, "PAUSE_POLL_S", 0.0)
    await Gathering(world, lambda _: None).meet()
    assert [(o.command, list(o.arguments)) for o in world.orders] == [("next", [0]), ("pause", [0])]
    assert world.state.paused == (0,)


class Loop(World):
    """Rank 0, for which rank 1 waits, is in a loop of two lines without a collective: a step ends at once."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[str] = []
        self.line = 2
        self._stand()

    def _stand(self) -> None:
        self.line = 5 - self.line
        place = SourceLocation("train.py", self.line, "train")
        self.state = self.state.rank(0, phase="paused", place=place)
        self.state = self.state.rank(1, operation=Collective("barrier", 2, None, (0, 1)))

    async def ask(self, order: Order) -> dict[int, Dap]:
        answers = await super().ask(order)
        if order.command == "next":
            self._stand()
        return answers

    def show(self, moved: events.Moved) -> None:
        self.state = moved[0]
        self.shown.append(view(self.state).sentence)


async def test_after_a_pause_a_rank_in_a_loop_without_a_collective_stays_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = Loop()
    monkeypatch.setattr(step_to_collective, "PAUSE_POLL_S", 0.0)
    await Gathering(world, world.show).meet()
    assert [o.command for o in world.orders] == ["next"] * 4
    assert world.shown == ["Stepping rank 0 to barrier, where rank 1 waits.", STOOD]


async def test_steps_to_a_collective_that_never_comes_are_said_and_can_be_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = Loop()
    monkeypatch.setattr(step_to_collective, "PAUSE_POLL_S", 0.0)
    monkeypatch.setattr(step_to_collective, "GATHER_STEPS", 1_000_000)
    monkeypatch.setattr(step_to_collective, "LATE_S", 0.0)
    request = {"command": "dtrain/gather", "arguments": {"rank": 1}}
    steps = asyncio.ensure_future(Gathering(world, world.show).step_others(request))
    while len(world.shown) < 2:
        await asyncio.sleep(0)
    assert world.shown[1] == ("Rank 0 has not come to barrier yet, where rank 1 waits. Pause ends the steps.")
    steps.cancel()
    await asyncio.wait({steps})
    assert world.shown[2] == STOOD
    assert world.state.bringing is None


async def test_steps_that_lead_to_no_collective_say_so_when_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    world = Loop()
    monkeypatch.setattr(step_to_collective, "PAUSE_POLL_S", 0.0)
    monkeypatch.setattr(step_to_collective, "GATHER_STEPS", 3)
    request = {"command": "dtrain/gather", "arguments": {"rank": 1}}
    await Gathering(world, world.show).step_others(request)
    assert world.shown[-1] == STOOD
    (note,) = view(world.state).notes
    assert note.startswith("Rank 0 did not come to barrier within 3 steps.")
    moved, _ = requests.moved(world.state, "next", (0,))
    assert not view(moved).notes


async def test_ranks_that_are_brought_to_a_collective_are_shown_as_running_throughout() -> None:
    world = Loop()
    before = replace(world.state, focus=0, reached=True)
    steps = StepsToCollective((0,), (1,), "barrier")
    state, told = events.bring(before, steps)
    assert [one["event"] for one in told] == ["continued", "dtrain/state"]
    shown = view(state)
    assert [r.phase for r in shown.ranks] == ["running", "running"]
    assert (shown.waits, shown.ranks[0].place) == ((), None)
    for line in range(3):
        state, _ = requests.moved(state, "next", (0,))
        assert view(state) == shown
        place = {"file": "train.py", "line": line, "function": "train"}
        stop = {"reason": "step", "place": place}
        for name, body in (("continued", {}), ("stopped", stop)):
            state, told = events.happened(state, 0, name, body)
            assert not told, "its squares and the stack would flicker"
    assert events.settled(state) == (state, ())
    assert events.left(state, state) == (state, ()), "the same position again"
    assert events.left(state, replace(state, reached=False))[1]
    state, told = events.focus(state, 1)
    state, told = events.focus(state, 0)
    assert [one["event"] for one in told] == ["dtrain/state"]
    state, told = events.brought(state, "")
    assert [one["event"] for one in told] == ["stopped", "dtrain/state"]
    assert view(state).ranks[0].phase == "paused"
    assert view(state).waits


async def test_a_rank_that_takes_the_users_step_is_not_paused_within_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = Loop()
    world.state = replace(world.state, stepping=(1,))
    monkeypatch.setattr(step_to_collective, "PAUSE_POLL_S", 0.0)
    monkeypatch.setattr(step_to_collective, "GATHER_STEPS", 1)
    request = {"command": "dtrain/gather", "arguments": {"rank": 1}}
    await Gathering(world, world.show).step_others(request)
    assert [o.command for o in world.orders if o.arguments] == ["next"]
