"""Where ranks are, and their stacks."""

from __future__ import annotations

from dtrain_lab.wire.codec.encode import encode as encode
from dtrain_lab.wire.links.base import Message
from dtrain_lab.wire.stacks import Frame


class ReadStacks(Message, frozen=True, tag="stacks"):
    """Ask ranks for the stacks of their threads, or the agents of ranks that can't answer themselves.

    A rank can't while a thread holds the GIL. A job's ranks are read by their agents only.
    """

    id: int
    ranks: tuple[int, ...]
    main_only: bool = False
    """Only the frames of the main thread are needed, and no text."""


class StacksRead(Message, frozen=True, tag="here"):
    """Answers `ReadStacks` for one rank: the frames of its main thread, and the stacks of all its threads."""

    rank: int
    id: int
    frames: tuple[Frame, ...] = ()
    text: str = ""
