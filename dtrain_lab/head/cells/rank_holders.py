"""Processes that hold ranks for a view's call (not a cell); a process's end frees its ranks."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from dtrain_lab.machine import processes
from dtrain_lab.wire.clients import TURN_KEPT_S


class TurnHolders:
    """Turns by name, each with the process that holds it.

    Args:
        gone: Called with a turn whose process has ended.
    """

    def __init__(self, gone: Callable[[str], None]) -> None:
        self._gone = gone
        self._watched: dict[str, int] = {}
        self._unseen: set[str] = set()
        """Turns of processes on other machines."""
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def hold(self, turn: str, pid: int, system: str) -> bool:
        """Watch the process that holds a turn.

        A process that can't be seen from here keeps its turn by requesting it again once it has begun.

        Args:
            turn: Name of the turn.
            pid: Process id of the holder.
            system: Host boot and PID namespace in which the pid is valid.

        Returns:
            False if the process has already ended.
        """
        if not processes.is_here(system):
            self._unseen.add(turn)
            return True
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            return False
        self._watched[turn] = descriptor
        asyncio.get_running_loop().add_reader(descriptor, self._ended, turn)
        return True

    def knows(self, turn: str) -> bool:
        """Whether the turn is held or queued; a repeated request renews a turn whose holder can't be seen."""
        if turn in self._timers:
            self._wait(turn)
        return turn in self._unseen or turn in self._watched

    def began(self, turn: str) -> None:
        """A turn has begun; its holder, which has only waited so far, requests it again from now on."""
        if turn in self._unseen:
            self._wait(turn)

    def _wait(self, turn: str) -> None:
        if turn in self._timers:
            self._timers[turn].cancel()
        self._timers[turn] = asyncio.get_running_loop().call_later(TURN_KEPT_S, self._ended, turn)

    def drop(self, turn: str) -> None:
        """Stop watching a turn that was released."""
        self._unseen.discard(turn)
        timer = self._timers.pop(turn, None)
        if timer is not None:
            timer.cancel()
        descriptor = self._watched.pop(turn, None)
        if descriptor is not None:
            asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)

    def _ended(self, turn: str) -> None:
        self.drop(turn)
        self._gone(turn)
