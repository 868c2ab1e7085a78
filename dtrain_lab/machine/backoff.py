"""Back-off of a loop that fails: how long to wait before each restart. Pure."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

FIRST_S: Final = 0.2
MOST_S: Final = 30.0
HEALTHY_S: Final = 60.0
"""Work that ran this long counts as recovered: its next failure starts the back-off again."""


class LoopState(Struct, frozen=True):
    """State of a supervised loop. Times are in seconds of a monotonic clock."""

    began_at: float | None = None
    """None while the loop does not run."""
    in_a_row: int = 0
    restarts: int = 0
    """Number of restarts in total."""


class Began(Struct, frozen=True):
    """The loop has started."""

    at: float


class Failed(Struct, frozen=True):
    """An exception escaped from the loop."""

    at: float


Event = Began | Failed


def step(state: LoopState, event: Event) -> tuple[LoopState, float | None]:
    """Apply an event to a loop. A loop that keeps failing is retried every `MOST_S`, never abandoned.

    Args:
        state: State of the loop.
        event: What happened to it; times in it are monotonic seconds.

    Returns:
        The new state, and the seconds until the restart; None if none is due.
    """
    match event:
        case Began(at):
            return replace(state, began_at=at), None
        case Failed(at):
            ran_s = at - state.began_at if state.began_at is not None else 0.0
            in_a_row = 1 if ran_s >= HEALTHY_S else state.in_a_row + 1
            after_s = min(MOST_S, FIRST_S * 2.0 ** min(in_a_row - 1, 16))
            return LoopState(None, in_a_row, state.restarts + 1), after_s
