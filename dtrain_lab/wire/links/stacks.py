"""Where ranks are, and their stacks."""

from __future__ import annotations

from dtrain_lab.wire.codec.encode import encode as encode
from dtrain_lab.wire.links.base import Message
from dtrain_lab.wire.stacks import Frame


class RankLocation(Message, frozen=True, tag="here"):
    """Answers `AskWhere`: where a rank's main thread is, or the stacks of all its threads."""

    rank: int
    id: int
    frames: tuple[Frame, ...] = ()
    text: str = ""


class AskWhere(Message, frozen=True, tag="where"):
    """Ask a rank where its main thread is; `stacks`: ask for the stacks of all its threads."""

    id: int
    stacks: bool = False


class AskStacks(Message, frozen=True, tag="stacks"):
    """Ask an agent for the stacks of ranks that can't answer: a thread holds the GIL, or they are a job's."""

    id: int
    ranks: tuple[int, ...]
