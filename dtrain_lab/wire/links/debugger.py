"""Requests to ranks' debuggers, their answers and events."""

from __future__ import annotations

from dtrain_lab.wire.codec.encode import encode as encode
from dtrain_lab.wire.links.base import Message
from dtrain_lab.wire.stacks import Frame


class DebugResponse(Message, frozen=True, tag="debugged"):
    """Answers `DebugRequest`: the debugger's response as JSON."""

    rank: int
    id: int
    data: bytes = b""


class DebugEvent(Message, frozen=True, tag="debug_event"):
    """An event of a rank's debugger, as JSON.

    Each one describes the rank's stop at that time. `paused`: whether the rank is paused. `error`: the error
    that it has stopped at, as one line; empty for another reason. `frame`: the innermost frame of the user's
    code; None if the rank has stopped outside it, or is not paused.
    """

    rank: int
    data: bytes
    paused: bool = False
    error: str = ""
    frame: Frame | None = None


class DebugRequest(Message, frozen=True, tag="debug"):
    """A request to a rank's debugger: of the debug adapter protocol or our own (`rank.debugger.debugger`)."""

    rank: int
    id: int
    command: str
    arguments: bytes = b"{}"
    """The request's arguments, as JSON."""
