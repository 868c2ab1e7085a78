"""Actions of the world's state machine: what the head does after an event."""

from __future__ import annotations

from msgspec import Struct

from dtrain_lab.wire.endings import Ending
from dtrain_lab.world.events import Timer
from dtrain_lab.world.state import State

JOIN_WITHIN_S = 120.0
"""Time that new processes have until they join."""


class Base(Struct, frozen=True):
    """Base of actions."""


class ForkRanks(Base, frozen=True):
    """Start processes for these ranks."""

    ranks: tuple[int, ...]


class FormGroup(Base, frozen=True):
    """Have every rank form the process group of this generation.

    `joining` ranks are new processes; in the others the existing groups are re-pointed.
    """

    generation: int
    joining: tuple[int, ...]


class SignalRanks(Base, frozen=True):
    """Raise KeyboardInterrupt in the code that these ranks run."""

    ranks: tuple[int, ...]


class AbortRanks(Base, frozen=True):
    """Abort the collectives that these ranks wait in. `hooks`: as in the link's `Abort`."""

    ranks: tuple[int, ...]
    hooks: bool = True


class EndRanks(Base, frozen=True):
    """End these processes by a normal Python exit, so that their `atexit` handlers run."""

    ranks: tuple[int, ...]


class KillRanks(Base, frozen=True):
    """Kill these processes immediately."""

    ranks: tuple[int, ...]


class FailCell(Base, frozen=True):
    """Fail the cell that a rank ran, since the rank will never answer; `message` says why.

    `stopped`: somebody has stopped the cluster; `ending`: who, if known.
    """

    rank: int
    message: str
    stopped: bool = False
    ending: Ending | None = None


class GiveUp(Base, frozen=True):
    """End cells without waiting for these unresponsive ranks, which may still recover."""

    ranks: tuple[int, ...]


class StartTimer(Base, frozen=True):
    """Deliver `TimerFired` after `seconds`; starting a running timer again resets it.

    `interrupt`: the number of the interrupt that it belongs to; each has timers of its own.
    """

    timer: Timer
    seconds: float
    interrupt: int = 0


class StopTimer(Base, frozen=True):
    """Cancel a timer, of all interrupts."""

    timer: Timer


class EndWorld(Base, frozen=True):
    """End every process of the world, then the head."""


Action = (
    ForkRanks
    | FormGroup
    | SignalRanks
    | AbortRanks
    | EndRanks
    | KillRanks
    | FailCell
    | GiveUp
    | StartTimer
    | StopTimer
    | EndWorld
)

Moved = tuple[State, list[Action]]
"""Result of a transition: the new state, and the actions to take, in order."""


def fork(ranks: tuple[int, ...]) -> list[Action]:
    """Actions that start processes for ranks, and limit the time until they join."""
    return [ForkRanks(ranks), StartTimer("join", JOIN_WITHIN_S)]
