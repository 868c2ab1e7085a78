"""What a head does when its world moved."""

from __future__ import annotations

from msgspec import Struct

from dtrain_lab.core.world.events import Timer


class Base(Struct, frozen=True):
    """Base of actions."""


class ForkRanks(Base, frozen=True):
    """Make processes for these ranks."""

    ranks: tuple[int, ...]


class FormGroup(Base, frozen=True):
    """Have every rank form the group of this generation; `joining` ranks anew, the others re-pointed."""

    generation: int
    joining: tuple[int, ...]


class SignalRanks(Base, frozen=True):
    """Raise KeyboardInterrupt in what these ranks run."""

    ranks: tuple[int, ...]


class AbortRanks(Base, frozen=True):
    """Break the collectives that these ranks wait in."""

    ranks: tuple[int, ...]


class KillRanks(Base, frozen=True):
    """End these processes now."""

    ranks: tuple[int, ...]


class FailCell(Base, frozen=True):
    """Say that a rank will never answer the cell that it ran, and why."""

    rank: int
    message: str


class GiveUp(Base, frozen=True):
    """End the cells of ranks that do not answer, without them; they may come back."""

    ranks: tuple[int, ...]


class StartTimer(Base, frozen=True):
    """Come back with `TimerFired` after some seconds; starting it again moves it."""

    timer: Timer
    seconds: float


class StopTimer(Base, frozen=True):
    """Forget a timer."""

    timer: Timer


class EndWorld(Base, frozen=True):
    """End every process of the world, then the head."""


Action = (
    ForkRanks
    | FormGroup
    | SignalRanks
    | AbortRanks
    | KillRanks
    | FailCell
    | GiveUp
    | StartTimer
    | StopTimer
    | EndWorld
)
