"""Processes that hold ranks for something that is no cell: a view's call. Their end gives the ranks back."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable


class TurnHolders:
    """Turns by name, each with the process that gives it back.

    Args:
        gone: called with a turn whose process has ended.
    """

    def __init__(self, gone: Callable[[str], None]) -> None:
        self._gone = gone
        self._watched: dict[str, int] = {}

    def hold(self, turn: str, pid: int) -> bool:
        """Watch a process of this node; False where it has ended already."""
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            return False
        self._watched[turn] = descriptor
        asyncio.get_running_loop().add_reader(descriptor, self._ended, turn)
        return True

    def drop(self, turn: str) -> None:
        """The turn was given back."""
        descriptor = self._watched.pop(turn, None)
        if descriptor is not None:
            asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)

    def _ended(self, turn: str) -> None:
        self.drop(turn)
        self._gone(turn)
