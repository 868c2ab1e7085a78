"""The socket that accepts streams, at a path beside that of a ZeroMQ socket."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable

SUFFIX = ".s"
"""Suffix that turns the path of a ZeroMQ socket into that of the stream socket beside it."""
BACKLOG = 1024
AGAIN_S = 0.5
"""Seconds until the next attempt to accept if this process has no descriptor left."""


class Listener:
    """Accepts connections at a path, in a folder that only this user can enter.

    As with ZeroMQ's sockets, a file left at the path by a killed process is replaced.

    Args:
        path: Path of the socket.
        accepted: Called with each connection.

    Raises:
        OSError: No socket can be created at this path: it is too long.
    """

    def __init__(self, path: str, accepted: Callable[[socket.socket], None]) -> None:
        self._path = path
        self._accepted = accepted
        self._loop = asyncio.get_running_loop()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            self._socket.bind(path)
            os.chmod(path, 0o600)
        except OSError:
            self._socket.close()
            raise
        self._socket.listen(BACKLOG)
        self._socket.setblocking(False)
        self._loop.add_reader(self._socket, self._accept)

    def close(self) -> None:
        """Stop listening, and remove the file."""
        self._loop.remove_reader(self._socket)
        self._socket.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)

    def _accept(self) -> None:
        try:
            connection, _ = self._socket.accept()
        except BlockingIOError:
            return
        except OSError:  # no descriptor is left
            self._loop.remove_reader(self._socket)
            self._loop.call_later(AGAIN_S, self._again)
            return
        self._accepted(connection)

    def _again(self) -> None:
        if self._socket.fileno() >= 0:
            self._loop.add_reader(self._socket, self._accept)


def connect(url: str) -> socket.socket | None:
    """Connect to the stream socket beside a ZeroMQ socket of this machine.

    Args:
        url: URL of the ZeroMQ socket.

    Returns:
        The connected socket; None if the URL is not a path, or nothing accepts beside it: an older
        version, the end of a forward to another machine, or a process that hangs, whose queue of connections
        is full, so that a connection would wait for it.
    """
    scheme, _, path = url.partition("://")
    if scheme != "ipc":
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.setblocking(False)
    try:
        connection.connect(path + SUFFIX)
    except OSError:
        connection.close()
        return None
    return connection
