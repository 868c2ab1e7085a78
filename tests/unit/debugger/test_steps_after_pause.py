"""Ranks that are stepped after a pause, so that those that wait for them can stop, too."""

from __future__ import annotations

import pytest

from dtrain_lab.debugger.requests import Order
from dtrain_lab.debugger.state import Dap, RankView, State
from dtrain_lab.services.debugger import step_to_collective
from dtrain_lab.services.debugger.step_to_collective import Gathering

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
    await Gathering(world).meet()
    assert [(o.command, list(o.arguments)) for o in world.orders] == [("next", [0]), ("pause", [0])]
    assert world.state.paused == (0,)
