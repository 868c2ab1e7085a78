"""Leases: a world lives while a server, kernel or terminal holds one."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable

import psutil

from dtrain_lab.machine import processes
from dtrain_lab.wire.clients import Lease


class Leases:
    """The clients that keep this head alive.

    A holder on this host is watched through a pidfd, so its end is known at once. An end without a release
    counts as silence (a killed or restarted server): the world waits to be adopted. A release by the last
    holder ends the world, unless it is detached.

    Args:
        over: Called when no lease is left: at once after the last release, after silence once the adoption
            time has passed.
        adoption_s: Returns the seconds for a new server to adopt the world after the last holder fell silent.
    """

    def __init__(self, over: Callable[[], None], adoption_s: Callable[[], float]) -> None:
        self._over = over
        self._adoption_s = adoption_s
        self._held: dict[Lease, int | None] = {}
        self._attached: set[Lease] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._detached = False
        self._server_left = False
        """Whether a server has released its lease, and none has taken one since."""
        self.ended_with_server = False
        """Whether the world ends because a server was stopped that held it."""

    @property
    def notebooks(self) -> tuple[str, ...]:
        """Notebooks whose kernels are attached."""
        return tuple(sorted({lease.notebook for lease in self._attached if lease.notebook}))

    @property
    def held(self) -> bool:
        """Whether any lease is held."""
        return bool(self._held)

    def take(self, lease: Lease, *, attach: bool) -> None:
        """Take a lease; taking it again has no effect, but may attach its notebook.

        Args:
            lease: The lease; its process is watched if it runs on this machine.
            attach: Count its notebook among those that use the cluster.
        """
        self._cancel()
        self._server_left = self._server_left and lease.kind != "server"
        if attach:
            self._attached.add(lease)
        if lease in self._held:
            return
        descriptor = _watch(lease)
        self._held[lease] = descriptor
        if descriptor is not None:
            asyncio.get_running_loop().add_reader(descriptor, self._ended, lease)

    def release(self, lease: Lease) -> bool:
        """Release a lease; returns whether the world ends with it, and with the server that held it."""
        # a server that is stopped releases its lease before its kernels end, and release theirs
        self._server_left = self._server_left or lease.kind == "server"
        ends = lease in self._held and self._drop(lease) and not self._detached
        self.ended_with_server = ends and self._server_left and lease.kind in ("server", "kernel")
        if ends:
            self._end()
        return self.ended_with_server

    def expect(self) -> None:
        """At the head's start: wait the adoption time for the first lease."""
        if not self._held:
            self._wait()

    def launched(self, *, detached: bool) -> None:
        """Called when the head becomes a world's: drop the lease that kept it warm, wait for the client's.

        Args:
            detached: The world lives until it is stopped; otherwise it waits the adoption time for a lease.
        """
        for lease in list(self._held):
            self._drop(lease)
        self._cancel()
        self._detached = detached
        self._wait()

    def _ended(self, lease: Lease) -> None:
        if not self._drop(lease):
            return
        if lease.kind == "terminal":
            self._end()  # a closed terminal needs its clusters no more
        else:
            self._wait()

    def _end(self) -> None:
        if not self._detached:
            self._over()

    def _drop(self, lease: Lease) -> bool:
        """Remove a lease; returns whether it was the last."""
        descriptor = self._held.pop(lease)
        self._attached.discard(lease)
        if descriptor is not None:
            asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)
        return not self._held

    def _wait(self) -> None:
        self._cancel()
        self._timer = asyncio.get_running_loop().call_later(self._adoption_s(), self._end)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _watch(lease: Lease) -> int | None:
    """A descriptor that becomes readable when the holder ends; None if the holder is on another host."""
    if lease.host != socket.gethostname() or not processes.is_here(lease.system):
        return None
    try:
        began = processes.started(lease.pid)
        descriptor = os.pidfd_open(lease.pid)
    except (psutil.NoSuchProcess, ProcessLookupError):
        return _ended_already()
    if abs(began - lease.started) > processes.APART_S:  # the pid was reused by another process
        os.close(descriptor)
        return _ended_already()
    return descriptor


def _ended_already() -> int:
    reading, writing = os.pipe()
    os.close(writing)
    return reading
