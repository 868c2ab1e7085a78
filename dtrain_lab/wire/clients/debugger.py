"""Requests to look into ranks: debugger, stacks, the metrics' history."""

from __future__ import annotations

from typing import Any, ClassVar

from dtrain_lab.wire.clients.base import Body
from dtrain_lab.wire.codec.encode import encode as encode
from dtrain_lab.wire.metrics.history import Point
from dtrain_lab.wire.stacks import Stack


class Stacks(Body, frozen=True, tag="stacks"):
    """Ask for the stacks of ranks."""

    result: ClassVar[Any] = list[Stack]
    repeatable: ClassVar[bool] = True
    ranks: tuple[int, ...] | None = None


class ReadHistory(Body, frozen=True, tag="read_history"):
    """Ask for history points after a time (seconds since 1970), oldest first.

    `idle`: also those between trainings, which have memory, and when the group was rebuilt.
    """

    result: ClassVar[Any] = list[Point]
    repeatable: ClassVar[bool] = True
    since: float = 0.0
    idle: bool = False


NOT_YET = "has not come yet"
"""Part of the head's error for a job's rank that has not registered with it yet."""


class AcquireDebugger(Body, frozen=True, tag="hold_debugger"):
    """Take exclusive use of the world's debugger.

    Unless it is renewed within 10 s, paused ranks continue and the debugger is released. `who`: shown to
    other clients that ask meanwhile: the notebook, or "a terminal". `pid`: the debugger is released at once
    when this process ends.
    """

    result: ClassVar[Any] = int
    who: str
    pid: int
    system: str = ""


class ReleaseDebugger(Body, frozen=True, tag="leave_debugger"):
    """Release the debugger; paused ranks continue."""


class DebugRequest(Body, frozen=True, tag="debug"):
    """Send a debugger command to ranks, with arguments per rank.

    Answered once all ranks have answered, or after `within_s` seconds.
    """

    result: ClassVar[Any] = dict[int, bytes]
    command: str
    arguments: dict[int, bytes]
    """Rank → arguments as JSON."""
    within_s: float = 10.0
