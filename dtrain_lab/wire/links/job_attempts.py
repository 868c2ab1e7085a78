"""Ranks that a launcher made, and attempts of a job to run them."""

from __future__ import annotations

from typing import Literal

from dtrain_lab.wire import VERSION
from dtrain_lab.wire.codec.encode import encode as encode
from dtrain_lab.wire.links.base import Message

AttemptState = Literal["runs", "done", "failed", "unknown"]


class RanksLaunched(Message, frozen=True, tag="attached"):
    """The ranks that a launcher made for this agent have started.

    `restart`: how often the launcher has restarted its ranks.
    """

    node: int
    name: str
    ranks: tuple[tuple[int, int, int], ...]
    """Rank, local rank and pid of each."""
    restart: int = 0
    version: int = VERSION


class AskEnd(Message, frozen=True, tag="ask_end"):
    """All ranks of this agent have succeeded in this attempt, or serve a chief; asks whether it is over."""

    restart: int


class Attempt(Message, frozen=True, tag="attempt"):
    """The state of an attempt: answers `AskEnd`, and is sent again when the attempt is over."""

    restart: int
    stand: AttemptState
