"""Ranks that are attached or paused, as the pure debugger sees them."""

from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.debugger import events
from dtrain_lab.debugger.state import (
    State,
    sized,
)


def attached(size: int = 3) -> State:
    state = replace(sized(State(), size), on=True)
    for rank in range(size):
        state = state.rank(rank, attached=True)
    return state


def paused(size: int = 3, *ranks: int) -> State:
    state = events.cell_began(attached(size), range(size))
    place = {"file": "dtrain-cell:77.py", "line": 6, "function": "step"}
    for rank in ranks or range(size):
        state, _ = events.happened(state, rank, "stopped", {"reason": "breakpoint", "place": place})
    return state
