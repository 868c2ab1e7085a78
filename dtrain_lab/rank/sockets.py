"""Which sockets are gloo's own, and how to shut them from another thread.

gloo has no abort: a rank that waits in a collective can only be freed by closing its connections. Only
those are touched that appeared while a process group was made; the user's own stay.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager


class GlooSockets:
    """The connections of the process groups of this rank, by descriptor and inode."""

    def __init__(self) -> None:
        self._ours: dict[int, str] = {}

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Whatever TCP connection appears inside is gloo's."""
        before = _sockets()
        try:
            yield
        finally:
            for number, inode in _sockets().items():
                if before.get(number) != inode:
                    self._ours[number] = inode

    def shut(self) -> int:
        """Shut every connection; collectives that wait on one fail at once. Returns how many."""
        present = _sockets()
        shut = 0
        for number, inode in self._ours.items():
            if present.get(number) == inode and _shut(number):
                shut += 1
        self._ours.clear()
        return shut


def _sockets() -> dict[int, str]:
    found: dict[int, str] = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:  # the descriptor of the listing itself, or one just closed
            continue
        if target.startswith("socket:"):
            found[int(name)] = target
    return found


def _shut(number: int) -> bool:
    try:
        copy = socket.socket(fileno=os.dup(number))
    except OSError:  # closed meanwhile
        return False
    with copy:
        internet = copy.family in (socket.AF_INET, socket.AF_INET6) and copy.type == socket.SOCK_STREAM
        if not internet or copy.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            return False
        try:
            copy.shutdown(socket.SHUT_RDWR)
        except OSError:  # the peer was faster
            return False
    return True
