"""Every state of the screens, with data that never changes."""

from __future__ import annotations

from tests.ui.states import debugger, empty, jobs, output, ranks, stuck, submit, sweeps, training, troubles
from tests.ui.states.state import State

STATES: tuple[State, ...] = (
    *training.STATES,
    *stuck.STATES,
    *ranks.STATES,
    *submit.STATES,
    *jobs.STATES,
    *sweeps.STATES,
    *output.STATES,
    *empty.STATES,
    *troubles.STATES,
    *debugger.STATES,
)
