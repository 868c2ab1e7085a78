"""Expressions that are evaluated on all ranks."""

from __future__ import annotations

from dtrain_lab.debugger import events, requests
from dtrain_lab.debugger.state import Dap, Outcome, State
from dtrain_lab.services.debugger import across
from tests.unit.debugger.paused_ranks import paused


class World:
    """Ranks that answer what they are asked for, whether the debugger is attached or not."""

    def __init__(self, state: State) -> None:
        self.state = state

    async def ask(self, order: requests.Order) -> dict[int, Dap]:
        value = {"type": "int", "text": "3", "exact": "3", "leaves": []}
        return {rank: {"success": True, "body": value} for rank in order.arguments}


async def test_ranks_that_an_interrupt_has_detached_are_asked_too() -> None:
    state = paused(2, 1)
    for event in ("released", "continued"):
        state, _ = events.happened(state, 1, event, {})
    row = await across.evaluate(World(state), "step")
    assert row.running == (0, 1)
    state, _ = events.cell_ended(state, (0, 1), Outcome(failed=True, unfinished=(0, 1)))
    assert state.attached == (0,), "the other one is attached again a moment later"
    row = await across.evaluate(World(state), "step")
    assert row.text == "3 on all ranks"
