"""Locks that a client's process holds (ranks for a view's calls, the debugger), released when it ends."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from dtrain_lab.machine import processes
from dtrain_lab.wire.clients import RANKS_HELD_S


class LockHolders:
    """Locks by name, each with the process that holds it.

    Args:
        gone: Called with the name of a lock whose process has ended.
    """

    def __init__(self, gone: Callable[[str], None]) -> None:
        self._gone = gone
        self._watched: dict[str, int] = {}
        self._unseen: set[str] = set()
        """Locks of processes on other machines."""
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def hold(self, name: str, pid: int, system: str) -> bool:
        """Watch the process that holds a lock.

        A process that can't be seen from here keeps its lock by requesting it again once it is acquired.

        Args:
            name: Name of the lock.
            pid: Process id of the holder.
            system: Host boot and PID namespace in which the pid is valid.

        Returns:
            False if the process has already ended.
        """
        if not processes.is_here(system):
            self._unseen.add(name)
            return True
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            return False
        self._watched[name] = descriptor
        asyncio.get_running_loop().add_reader(descriptor, self._ended, name)
        return True

    def knows(self, name: str) -> bool:
        """Whether a lock is held or queued for; a repeated request renews one whose holder can't be seen."""
        if name in self._timers:
            self._expire_later(name)
        return name in self._unseen or name in self._watched

    def acquired(self, name: str) -> None:
        """A lock is acquired; its holder, which has only waited so far, has to renew it from now on."""
        if name in self._unseen:
            self._expire_later(name)

    def _expire_later(self, name: str) -> None:
        if name in self._timers:
            self._timers[name].cancel()
        self._timers[name] = asyncio.get_running_loop().call_later(RANKS_HELD_S, self._ended, name)

    def drop(self, name: str) -> None:
        """Stop watching a lock that was released."""
        self._unseen.discard(name)
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()
        descriptor = self._watched.pop(name, None)
        if descriptor is not None:
            asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)

    def _ended(self, name: str) -> None:
        self.drop(name)
        self._gone(name)
