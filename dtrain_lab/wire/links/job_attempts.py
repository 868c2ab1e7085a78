"""Ranks that a launcher made, and attempts of a job to run them.

In messages, fields keep their earlier names ("restart", "stand"): an agent may outlive its job's head.
"""

from __future__ import annotations

from typing import Literal

from msgspec import field

from dtrain_lab.wire import VERSION
from dtrain_lab.wire.codec.encode import encode as encode
from dtrain_lab.wire.links.base import Message

AttemptState = Literal["runs", "done", "failed", "unknown"]


class RanksLaunched(Message, frozen=True, tag="attached"):
    """The ranks that a launcher made for this agent have started.

    `attempt`: how often the launcher has restarted its ranks.
    """

    node: int
    name: str
    ranks: tuple[tuple[int, int, int], ...]
    """Rank, local rank and pid of each."""
    attempt: int = field(default=0, name="restart")
    version: int = VERSION


class AskEnd(Message, frozen=True, tag="ask_end"):
    """All ranks of this agent have succeeded in this attempt, or serve a chief; asks whether it is over."""

    attempt: int = field(name="restart")


class Attempt(Message, frozen=True, tag="attempt"):
    """The state of an attempt: answers `AskEnd`, and is sent again when the attempt is over."""

    attempt: int = field(name="restart")
    state: AttemptState = field(name="stand")
