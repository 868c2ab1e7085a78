"""Process groups: forming and aborting them, and the rendezvous store."""

from __future__ import annotations

from typing import Literal

from dtrain_lab.wire.codec.encode import encode as encode
from dtrain_lab.wire.links.base import Message

GroupSpec = tuple[str, tuple[int, ...], str]
"""A process group, the same on all of its ranks: name, global ranks, description."""


class GroupFormed(Message, frozen=True, tag="formed"):
    """A rank has formed (or failed to form) the group of a generation."""

    rank: int
    generation: int
    error: str = ""
    unpointed: tuple[str, ...] = ()
    """Names of live objects that could not be re-pointed at the new group."""
    groups: tuple[GroupSpec, ...] = ()
    group_count: int = 0


class StoreCall(Message, frozen=True, tag="store"):
    """A rank's call of the rendezvous store. See `dist.Store` for the operations."""

    rank: int
    id: int
    operation: Literal["set", "get", "add", "compare_set", "check", "wait", "delete", "count"]
    keys: tuple[str, ...] = ()
    value: bytes = b""
    expected: bytes = b""
    amount: int = 0


class FormGroup(Message, frozen=True, tag="form"):
    """Form the process group of a generation: a new rank joins it, others re-point their live groups."""

    generation: int
    size: int
    local_size: int
    threads: int
    collectives: str
    groups: tuple[GroupSpec, ...] = ()
    group_count: int = 0


class Abort(Message, frozen=True, tag="abort"):
    """Abort every waiting collective, from outside the main thread.

    `hooks`: also raise KeyboardInterrupt in Python code of a backward pass that torch runs in a thread of its
    own, as it does for GPUs: a signal reaches the main thread only.
    """

    hooks: bool = False


class StoreAnswer(Message, frozen=True, tag="stored"):
    """Answers `StoreCall`."""

    id: int
    value: bytes = b""
    number: int = 0
