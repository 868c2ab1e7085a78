"""Cells on ranks, and what belongs to them: comms, completion, logged values."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from dtrain_lab.wire.codec.encode import encode as encode
from dtrain_lab.wire.kinds import CommKind
from dtrain_lab.wire.links.base import Message
from dtrain_lab.wire.links.groups import GroupSpec
from dtrain_lab.wire.metrics.collective import CollectiveCall
from dtrain_lab.wire.metrics.diagnosis import Change, StepTimings
from dtrain_lab.wire.stacks import Frame


class CellReply(Message, frozen=True, tag="reply"):
    """A cell ended on a rank. Sent after all of its output."""

    cell: str
    rank: int
    kind: Literal["ok", "raised", "interrupted"] = "ok"
    type: str = ""
    message: str = ""
    frames: tuple[Frame, ...] = ()
    value: str = ""
    has_group: bool = True
    """False if the cell destroyed the default group."""
    sequence: int | None = None
    """Number of collectives issued in the default group."""
    calls: tuple[CollectiveCall, ...] = ()
    """The last collectives of a rank whose cell failed."""
    groups: tuple[GroupSpec, ...] = ()
    group_count: int = 0
    detail: tuple[str, ...] = ()
    timings: StepTimings | None = field(default=None, name="report")
    """Answers `Diagnose`."""
    steps: int | None = None
    """Training steps of this process so far; None without a monitor."""


class ValuesLogged(Message, frozen=True, tag="logged"):
    """Values of a step that the user passed to `dt.log`.

    `averaged`: they are means over ranks; else they are those of the rank that sends them.
    """

    rank: int
    step: int
    at: float
    values: dict[str, float] = {}
    averaged: bool = False


class Completed(Message, frozen=True, tag="completed"):
    """Answers `Complete`: the reply's content as JSON; empty if the rank is busy."""

    rank: int
    id: int
    data: bytes = b""


class WidgetHandled(Message, frozen=True, tag="handled"):
    """Answers `Comm`: its callbacks have run, and their output has been sent."""

    rank: int
    id: int


# ---- head → rank


class Execute(Message, frozen=True, tag="execute"):
    """Run a cell."""

    cell: str
    code: str
    label: str
    first_line: int = 1
    """Line number of the code's first line as the user counts (2 below a magic)."""
    source: str = ""
    """Name of the cell's source in the debugger; equal for equal text."""
    ranks: int = 0
    """Number of ranks that run the cell; 0 if unknown."""


class Diagnose(Message, frozen=True, tag="diagnose"):
    """Time training steps, instead of a cell; its reply has the `StepTimings`.

    `change`: advice to try; None for both checks of `diagnose`.
    """

    cell: str
    ranks: int
    change: Change | None = None


class Comm(Message, frozen=True, tag="comm"):
    """A comm message from a widget's front end.

    `data` and `metadata` are the message's content and metadata as JSON; `parent` is its id.
    """

    cell: str
    kind: CommKind
    data: bytes
    buffers: tuple[bytes, ...] = ()
    metadata: bytes = b""
    parent: str = ""
    id: int = 0


class Complete(Message, frozen=True, tag="complete"):
    """Ask a rank for completions at the cursor, or (`inspect`) for help on the name there."""

    id: int
    code: str
    cursor: int
    inspect: bool = False
    detail: int = 0
