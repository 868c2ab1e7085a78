"""What is said of ranks that all run, whose positions are not looked up."""

from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.debugger import events, requests
from dtrain_lab.debugger.state import Breakpoint, Collective
from dtrain_lab.debugger.view import view
from tests.unit.debugger.paused_ranks import attached, paused


def test_once_all_ranks_run_none_is_said_to_wait() -> None:
    state = paused(2, 1).rank(0, operation=Collective("barrier", 1, None, (0, 1)))
    state, _ = requests.moved(state, "next", (1,))
    assert list(state.waiting) == [0], "a step is short"
    state, _ = events.happened(state, 1, "stopped", {"reason": "step"})
    state, _ = requests.moved(state, "continue", (1,))
    assert not state.waiting


def test_a_breakpoint_is_not_reached_yet_until_the_first_stop_of_a_cell() -> None:
    state = replace(attached(2), points={"a.py": (Breakpoint(3),)})
    state = events.cell_began(state, (0, 1))
    assert view(state).sentence == "2 ranks run. No breakpoint has been reached yet."
    state, _ = events.happened(state, 1, "stopped", {"reason": "breakpoint"})
    state, _ = requests.moved(state, "continue", (1,))
    assert view(state).sentence == "2 ranks run."
    state, _ = events.cell_ended(state, (0, 1), state.outcome)
    assert not events.cell_began(state, (0, 1)).reached
