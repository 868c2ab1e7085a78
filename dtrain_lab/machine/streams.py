"""Messages over a unix stream socket: sent at once by whoever sends, read in an event loop.

Between processes of one machine. ZeroMQ has a thread of its own at each end, so a message would wake two
threads more on its way; for a cell, that is most of its time. A message is its length and its bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterable

from dtrain_lab.wire.codec.chunks import MOST_MESSAGE, check

SUFFIX = ".s"
"""Added to the path of a ZeroMQ socket: the path of the stream socket beside it."""
READ = 1 << 16
BURST = 16
"""Reads in one loop iteration: what arrives together is taken together, and other work is not starved."""
BACKLOG = 1024
AGAIN_S = 0.5
"""Seconds until the next attempt to accept where this process has no descriptor left."""
_LENGTH = struct.Struct("<I")

Take = Callable[[list[bytes]], None]


class Stream:
    """One end of a connection. Made in the loop that reads; messages may be sent from every thread.

    Args:
        connected: The connected socket.
        take: Called with the messages that have arrived together.
        lost: Called once when the other end is gone.
        watched: Descriptor that is readable where the loop is to read; by default the socket.
    """

    def __init__(
        self,
        connected: socket.socket,
        take: Take,
        lost: Callable[[], None] = lambda: None,
        watched: int | None = None,
    ) -> None:
        connected.setblocking(False)
        self._socket = connected
        self._take = take
        self._lost = lost
        self._watched = connected.fileno() if watched is None else watched
        self._loop = asyncio.get_running_loop()
        self._reading = threading.RLock()
        self._parts: list[bytes] = []
        self._have, self._need = 0, _LENGTH.size
        self._sending = threading.Lock()
        self._leaving: deque[memoryview] = deque()
        self.waiting = 0
        """Bytes that were given to `send` and have not left."""
        self.open = True
        self._loop.add_reader(self._watched, self._read)

    def send(self, messages: Iterable[bytes]) -> None:
        """Send messages in order; what the other end does not take now leaves later.

        Raises:
            WireMismatch: A message is too long.
        """
        messages = tuple(messages)
        for message in messages:
            check(message)
        data = b"".join(part for m in messages for part in (_LENGTH.pack(len(m)), m))
        with self._sending:
            if not self.open:
                return
            sent = 0
            if not self._leaving:
                try:
                    sent = self._socket.send(data)
                except BlockingIOError:
                    pass
                except OSError:  # the reader learns of the end, after what has arrived before it
                    return
                if sent == len(data):
                    return
                self._loop.call_soon_threadsafe(self._write_later)
            self._leaving.append(memoryview(data)[sent:])
            self.waiting += len(data) - sent

    def read_all(self) -> None:
        """Read what has arrived so far; in the loop's thread."""
        while self.open and self._read():
            pass

    def read_beside(self, take: Take) -> None:
        """Read once, on another thread than the loop's, which is left to see the end.

        Args:
            take: Called with the messages, in place of the loop's.
        """
        with self._reading:
            data = self._receive()
            if data:
                self._add(data, take)

    def close(self, linger_s: float = 0.0) -> None:
        """Close; in the loop's thread.

        Args:
            linger_s: Seconds to wait for the other end to take what has not left.
        """
        with self._sending:
            if not self.open:
                return
            self.open = False
            self._loop.remove_reader(self._watched)
            self._loop.remove_writer(self._socket)
            if self._leaving and linger_s:
                self._socket.settimeout(linger_s)
                with contextlib.suppress(OSError):
                    self._socket.sendall(b"".join(self._leaving))
            self._leaving.clear()
            self._socket.close()

    def _write_later(self) -> None:
        if self.open:
            self._loop.add_writer(self._socket, self._write)

    def _write(self) -> None:
        with self._sending:
            while self._leaving:
                first = self._leaving[0]
                try:
                    sent = self._socket.send(first)
                except BlockingIOError:
                    return
                except OSError:
                    self._leaving.clear()
                    self.waiting = 0
                    break
                self.waiting -= sent
                if sent == len(first):
                    self._leaving.popleft()
                else:
                    self._leaving[0] = first[sent:]
            self._loop.remove_writer(self._socket)

    def _read(self) -> bool:
        """Read once; returns whether there was something."""
        with self._reading:
            data = self._receive_all()
            if data:
                self._add(data, self._take)
        if data == b"":
            self._end()
        return bool(data)

    def _receive_all(self) -> bytes | None:
        """Read what has arrived, up to `BURST` times."""
        data = self._receive()
        if data is None or len(data) < READ:  # most reads
            return data
        parts = [data]
        while len(parts) < BURST and len(parts[-1]) == READ and (more := self._receive()):
            parts.append(more)
        return b"".join(parts)

    def _receive(self) -> bytes | None:
        """Read once: None where nothing has arrived, empty at the end."""
        try:
            return self._socket.recv(READ)
        except BlockingIOError:
            return None
        except OSError:  # the other end has died with messages of ours unread
            return b""

    def _add(self, data: bytes, take: Take) -> None:
        self._parts.append(data)
        self._have += len(data)
        if self._have >= self._need:
            messages = self._whole()
            if messages:
                take(messages)

    def _whole(self) -> list[bytes]:
        """Take the complete messages out of what was read."""
        data = b"".join(self._parts)
        found, at = [], 0
        while True:
            self._need = _LENGTH.size
            if len(data) - at < self._need:
                break
            (length,) = _LENGTH.unpack_from(data, at)
            if length > MOST_MESSAGE:  # not one of ours: there is no way to find the next message
                self._end()
                break
            self._need += length
            if len(data) - at < self._need:
                break
            found.append(data[at + _LENGTH.size : at + self._need])
            at += self._need
        rest = data[at:]
        self._parts, self._have = [rest] if rest else [], len(rest)
        return found

    def _end(self) -> None:
        if self.open:
            self.close()
            self._lost()


class Listener:
    """Accepts connections at a path, in a folder that only this user can enter.

    Args:
        path: Path of the socket.
        accepted: Called with each connection.
    """

    def __init__(self, path: str, accepted: Callable[[socket.socket], None]) -> None:
        self._accepted = accepted
        self._loop = asyncio.get_running_loop()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(path)
        os.chmod(path, 0o600)
        self._socket.listen(BACKLOG)
        self._socket.setblocking(False)
        self._loop.add_reader(self._socket, self._accept)

    def close(self) -> None:
        """Stop listening."""
        self._loop.remove_reader(self._socket)
        self._socket.close()

    def _accept(self) -> None:
        try:
            made, _ = self._socket.accept()
        except BlockingIOError:
            return
        except OSError:  # no descriptor is left
            self._loop.remove_reader(self._socket)
            self._loop.call_later(AGAIN_S, self._again)
            return
        self._accepted(made)

    def _again(self) -> None:
        if self._socket.fileno() >= 0:
            self._loop.add_reader(self._socket, self._accept)


def connect(url: str) -> socket.socket | None:
    """Connect to the stream socket beside a ZeroMQ socket of this machine.

    Args:
        url: URL of the ZeroMQ socket.

    Returns:
        The connected socket; None where the URL is not a path, or nothing listens beside it: an older
        version, or the end of a forward to another machine.
    """
    scheme, _, path = url.partition("://")
    if scheme != "ipc":
        return None
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.connect(path + SUFFIX)
    except OSError:
        made.close()
        return None
    return made
