"""Output of ranks, and what they could not send of it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from dtrain_lab.wire.codec.encode import encode as encode
from dtrain_lab.wire.kinds import CellOutputKind
from dtrain_lab.wire.links.base import Message

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
"""Type of a widget's view in the data of a display."""


class OutputTail(Struct, frozen=True):
    """The end of a rank's output on one stream; the head may already have part of it.

    `through`: bytes written in total. `piped`: output of C code that the rank had not read from its pipe.
    """

    stream: Literal["stdout", "stderr"]
    through: int
    text: bytes
    piped: bytes = b""


class ReadPendingOutput(Message, frozen=True, tag="ask_unsaid"):
    """Ask for the unsent output of a rank that is stopped and can't send it."""

    rank: int


class CellOutput(Message, frozen=True, tag="output"):
    """Output that a rank printed or displayed. `data` and `metadata` are JSON, forwarded without parsing.

    `through`: bytes that the rank has written to this stream since its start, this text included.
    `parent`: id of the front-end message to which a widget responds; empty for the cell's own output.
    `pid`: pid of the rank, if the message opens a comm.
    """

    cell: str
    rank: int
    kind: CellOutputKind
    text: str = ""
    data: bytes = b""
    buffers: tuple[bytes, ...] = ()
    through: int = 0
    metadata: bytes = b""
    parent: str = ""
    pid: int = 0


class OutputStalled(Message, frozen=True, tag="quiet"):
    """A rank has printed nothing for a second; carries the bytes of each stream since its start."""

    rank: int
    stdout: int = 0
    stderr: int = 0


class PendingOutput(Message, frozen=True, tag="unsaid"):
    """Answers `ReadPendingOutput`: the end of a living rank's output."""

    rank: int
    pid: int
    words: tuple[OutputTail, ...]


class OutputConfirmed(Message, frozen=True, tag="seen"):
    """The head has a rank's output up to this byte count; the rank may discard it."""

    stream: Literal["stdout", "stderr"]
    through: int
