"""Finds gloo's sockets, and ends them from another thread to abort a collective.

gloo has no abort: a rank that waits in a collective can only be freed by ending its connections. Only sockets
that appeared while a process group was made are touched, never the user's own.

They are shut down for reading only. gloo reads the end and tells every operation that has not begun, but none
whose data it has begun to write (`Pair::signalException` skips the unbound buffers in `tx_`, gloo of torch
2.13). If writing failed, too, a send that comes between the shutdown and that read would wait there until
torch's time-out of 30 minutes.

For the same reason a socket stays open after its shutdown, until the next process group is made: gloo closes
its own descriptor, and a close with data unread, or data that arrive after it, would reset the connection.
The writes of a peer that is aborted a moment later would fail, and the peer would wait in such a send (gloo
keeps an operation whose write fails with ECONNRESET or EPIPE in `tx_`, too).
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
        self._shut: list[socket.socket] = []

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Record TCP connections that appear inside the context as gloo's, and close those shut down before.

        A group is made when no rank is in a collective of an earlier one: nobody waits on those.
        """
        closing, self._shut = self._shut, []
        for copy in closing:
            copy.close()
        before = _sockets()
        try:
            yield
        finally:
            for number, inode in _sockets().items():
                if before.get(number) != inode:
                    self._ours[number] = inode

    def shut(self) -> int:
        """End every recorded connection; collectives that wait on one fail at once.

        Returns:
            Number of connections ended.
        """
        present = _sockets()
        copies = [_shut(number) for number, inode in self._ours.items() if present.get(number) == inode]
        self._ours.clear()
        shut = [copy for copy in copies if copy is not None]
        self._shut += shut
        return len(shut)


def _sockets() -> dict[int, str]:
    by_descriptor: dict[int, str] = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:  # the descriptor of `listdir` itself, or one that was just closed
            continue
        if target.startswith("socket:"):
            by_descriptor[int(name)] = target
    return by_descriptor


def _shut(number: int) -> socket.socket | None:
    """Shut a connection down; return a copy that keeps it open, None if it has ended or is no connection."""
    try:
        copy = socket.socket(fileno=os.dup(number))
    except OSError:  # closed meanwhile
        return None
    internet = copy.family in (socket.AF_INET, socket.AF_INET6) and copy.type == socket.SOCK_STREAM
    if not internet or copy.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        copy.close()
        return None
    try:
        copy.shutdown(socket.SHUT_RD)
    except OSError:  # the peer has closed it first
        copy.close()
        return None
    return copy
