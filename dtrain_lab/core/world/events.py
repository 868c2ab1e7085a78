"""What a head can learn about its world."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Outcome = Literal["ok", "raised", "interrupted"]
Timer = Literal["abort", "deaf", "peers", "form", "join", "stop"]


class Base(Struct, frozen=True, tag=True):
    """Base of events; the class name tells the kind in a history."""


class Launched(Base, frozen=True):
    """A plan was accepted."""

    size: int
    nodes: int


class NodeReady(Base, frozen=True):
    """A node's fork server holds torch."""

    node: int


class NodeFailed(Base, frozen=True):
    """A node can't make ranks, or its agent ended."""

    node: int
    message: str
    hint: str = ""


class EnginesReady(Base, frozen=True):
    """The ipyparallel controller listens."""


class RankForked(Base, frozen=True):
    """A rank's process exists."""

    rank: int
    pid: int


class RankJoined(Base, frozen=True):
    """A rank is on the link."""

    rank: int
    pid: int


class GroupFormed(Base, frozen=True):
    """A rank is in the group of a generation."""

    rank: int
    generation: int


class GroupFailed(Base, frozen=True):
    """A rank could not form the group of a generation."""

    rank: int
    generation: int
    message: str


class RankExited(Base, frozen=True):
    """A rank's process ended."""

    rank: int
    pid: int
    code: int
    last: str = ""
    how: str = ""
    """In words, where an exit code does not tell it."""


class CellBegan(Base, frozen=True):
    """Ranks were told to run a cell."""

    cell: str
    ranks: tuple[int, ...]


class CellReplied(Base, frozen=True):
    """A cell ended on a rank. `has_group` is False where it destroyed the default group.

    `sequence` counts the collectives that the rank has issued in the default group.
    """

    rank: int
    outcome: Outcome
    has_group: bool = True
    sequence: int | None = None


class InterruptAsked(Base, frozen=True):
    """Someone wants what runs to end, with variables kept."""

    ranks: tuple[int, ...]


class RestartAsked(Base, frozen=True):
    """Someone wants new processes for these ranks."""

    ranks: tuple[int, ...]


class ResizeAsked(Base, frozen=True):
    """Someone wants another number of ranks; no cell runs."""

    size: int


class StopAsked(Base, frozen=True):
    """Someone wants the world to end; `why` is told to those who run cells."""

    why: str = "the cluster was stopped"


class TimerFired(Base, frozen=True):
    """A timer that an action started has run out."""

    timer: Timer


Event = (
    Launched
    | NodeReady
    | NodeFailed
    | EnginesReady
    | RankForked
    | RankJoined
    | GroupFormed
    | GroupFailed
    | RankExited
    | CellBegan
    | CellReplied
    | InterruptAsked
    | RestartAsked
    | ResizeAsked
    | StopAsked
    | TimerFired
)
