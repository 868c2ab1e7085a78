"""Leases: a world lives while someone holds one."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable

import psutil

from dtrain_lab.core.wire.doors import Lease
from dtrain_lab.machine import processes

ADOPTION_S = 600.0
"""After the last holder fell silent, a new server has this long to take the world over."""


class Leases:
    """Who keeps this head alive.

    A holder on this host is watched through a pidfd: its end is known at once. Its end without a release
    is silence (a killed or restarted server): the world waits to be adopted. A release by the last holder
    ends the world.

    Args:
        over: called when nobody is left: after the last release at once, after silence once the adoption
            time has passed.
        adoption_s: the adoption time.
    """

    def __init__(self, over: Callable[[], None], adoption_s: float = ADOPTION_S) -> None:
        self._over = over
        self._adoption_s = adoption_s
        self._held: dict[Lease, int | None] = {}
        self._attached: set[Lease] = set()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def notebooks(self) -> tuple[str, ...]:
        """Notebooks whose kernels are attached."""
        return tuple(sorted({lease.notebook for lease in self._attached if lease.notebook}))

    @property
    def held(self) -> bool:
        """Somebody holds one."""
        return bool(self._held)

    def hold(self, lease: Lease, *, attach: bool) -> None:
        """Take a lease; taking it again changes nothing, but may attach its notebook."""
        self._cancel()
        if attach:
            self._attached.add(lease)
        if lease in self._held:
            return
        descriptor = _watch(lease)
        self._held[lease] = descriptor
        if descriptor is not None:
            asyncio.get_running_loop().add_reader(descriptor, self._ended, lease)

    def release(self, lease: Lease) -> None:
        """Give a lease back."""
        if lease in self._held and self._drop(lease):
            self._over()

    def expect(self) -> None:
        """Nobody has taken a lease yet: wait the adoption time for the first."""
        if not self._held:
            self._wait()

    def _ended(self, lease: Lease) -> None:
        if not self._drop(lease):
            return
        if lease.kind == "terminal":
            self._over()  # a closed terminal is done with its clusters
        else:
            self._wait()

    def _drop(self, lease: Lease) -> bool:
        """Forget a lease; is it the last?"""
        descriptor = self._held.pop(lease)
        self._attached.discard(lease)
        if descriptor is not None:
            asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)
        return not self._held

    def _wait(self) -> None:
        self._cancel()
        self._timer = asyncio.get_running_loop().call_later(self._adoption_s, self._over)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _watch(lease: Lease) -> int | None:
    """A descriptor that is readable once the holder has ended; None where it lives on another host."""
    if lease.host != socket.gethostname():
        return None
    try:
        began = processes.started(lease.pid)
        descriptor = os.pidfd_open(lease.pid)
    except (psutil.NoSuchProcess, ProcessLookupError):
        return _ended_already()
    if abs(began - lease.started) > processes.APART_S:  # the number was given to another process
        os.close(descriptor)
        return _ended_already()
    return descriptor


def _ended_already() -> int:
    reading, writing = os.pipe()
    os.close(writing)
    return reading
