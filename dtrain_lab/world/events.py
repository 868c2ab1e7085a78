"""Events of the world's state machine: what the head can learn about its world."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from dtrain_lab.wire.endings import Ending

Outcome = Literal["ok", "raised", "interrupted"]
Timer = Literal["abort", "deaf", "peers", "form", "join", "stop"]


class Base(Struct, frozen=True, tag=True):
    """Base of events."""


class Launched(Base, frozen=True):
    """A plan was accepted."""

    size: int
    nodes: int


class NodeReady(Base, frozen=True):
    """A node's fork server has imported torch."""

    node: int


class NodeFailed(Base, frozen=True):
    """A node can't start ranks, or its agent ended."""

    node: int
    message: str
    hint: str = ""


class RankForked(Base, frozen=True):
    """A rank's process exists."""

    rank: int
    pid: int


class RankJoined(Base, frozen=True):
    """A rank has connected to the link."""

    rank: int
    pid: int


class GroupFormed(Base, frozen=True):
    """A rank has joined the process group of a generation."""

    rank: int
    generation: int


class GroupFailed(Base, frozen=True):
    """A rank failed to form the process group of a generation."""

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
    """Description of how the process ended, if the exit code does not show it."""
    fault: str = ""
    """The traceback of a crash inside C code."""


class CellBegan(Base, frozen=True):
    """A cell was sent to these ranks."""

    cell: str
    ranks: tuple[int, ...]


class CellReplied(Base, frozen=True):
    """A cell ended on a rank.

    `has_group` is False if the cell destroyed the default group. `sequence` is the number of collectives
    that the rank has issued in the default group.
    """

    rank: int
    outcome: Outcome
    has_group: bool = True
    sequence: int | None = None


class InterruptAsked(Base, frozen=True):
    """A client asked to interrupt the cells that these ranks run; variables are kept."""

    ranks: tuple[int, ...]


class RestartAsked(Base, frozen=True):
    """A client asked to replace the processes of these ranks."""

    ranks: tuple[int, ...]


class ResizeAsked(Base, frozen=True):
    """A client asked for a different number of ranks; no cell runs."""

    size: int


class StopAsked(Base, frozen=True):
    """The world has to stop: by a client's request, or for a reason, `why`, which running cells report.

    `ending`: who has stopped it, if known.
    """

    why: str = ""
    ending: Ending | None = None


class TimerFired(Base, frozen=True):
    """A timer that `StartTimer` started has expired."""

    timer: Timer
    interrupt: int = 0


Event = (
    Launched
    | NodeReady
    | NodeFailed
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
