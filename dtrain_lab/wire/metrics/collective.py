"""Signature of a collective call, for comparison between ranks."""

from __future__ import annotations

from msgspec import Struct


class CollectiveCall(Struct, frozen=True):
    """A collective call of one rank. It must be the same on all ranks of the group, or they hang.

    `group`: checksum of the group's name. `number`: the call's number within the group. `root`: the rank that
    sends or receives; −1 for a collective without a root.
    """

    group: int
    number: int
    operation: str
    dtype: str = ""
    root: int = -1
    shape: tuple[int, ...] = ()
