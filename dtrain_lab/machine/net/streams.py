"""Messages over a unix stream socket: sent at once by the calling thread, read in an event loop.

For processes of one machine. ZeroMQ has its own thread at each end, so a message would wake two more threads,
which takes most of a short cell's time. A message consists of its length and its bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import socket
import struct
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable

from dtrain_lab.wire.codec.chunks import MOST_MESSAGE, check

READ = 1 << 16
BURST = 16
"""Maximum reads per loop iteration, so that other work is not starved."""
_LENGTH = struct.Struct("<I")
_open: weakref.WeakSet[socket.socket] = weakref.WeakSet()

Take = Callable[[list[bytes]], None]


class Stream:
    """One end of a connection. Created in the loop that reads; messages may be sent by any thread.

    A thread that sends or reads does not wait for another thread that does, but leaves the work to it: that
    thread may be in a user's signal handler, which waits for this one.

    Args:
        connected: The connected socket.
        take: Called with the messages that have arrived together.
        lost: Called once when the other end is gone.
        watched: Descriptor that is readable when the loop should read; by default the socket.
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
        self._reading = threading.Lock()
        self._parts: list[bytes] = []
        self._have, self._need = 0, _LENGTH.size
        self._lost_track = False
        """Invalid data was read: the next message can't be found."""
        self._sending = threading.Lock()
        self._leaving: deque[tuple[int, memoryview]] = deque()
        """Unsent data, each with the number of bytes given so far."""
        self._given = 0
        self._full = False
        """The other end accepts nothing now; the loop is notified when it does."""
        self.open = True
        self._loop.add_reader(self._watched, self._read)
        _open.add(connected)
        _close_in_children()

    @property
    def waiting(self) -> int:
        """Number of bytes given to `send` and not yet sent; perhaps too small while two threads send."""
        try:
            (first, left), (last, _) = self._leaving[0], self._leaving[-1]
        except IndexError:
            return 0
        return last - first + len(left)

    def send(self, messages: Iterable[bytes]) -> None:
        """Send messages in order; the rest is sent later if the other end does not accept it now.

        Once the connection is closed, messages are dropped: `lost` has reported the end.

        Raises:
            WireMismatch: A message is too long.
        """
        messages = tuple(messages)
        for message in messages:
            check(message)
        if self.open:
            parts = (part for m in messages for part in (_LENGTH.pack(len(m)), m))
            leaving = memoryview(b"".join(parts))
            self._given += len(leaving)
            self._leaving.append((self._given, leaving))
            self._leave()

    def read_all(self) -> None:
        """Read what has arrived so far; in the loop's thread."""
        while self.open and self._read():
            pass

    def read_beside(self, take: Take) -> bool:
        """Read once, on a thread other than the loop's; the end of the stream is left to the loop.

        Args:
            take: Called with the messages, instead of the loop's callback.

        Returns:
            False if the loop's thread is reading.
        """
        if not self._reading.acquire(blocking=False):
            return False
        try:
            data = self._receive()
            if data:
                self._add(data, take)
        finally:
            self._reading.release()
        if data == b"" or self._lost_track:
            self._loop.call_soon_threadsafe(self._end)
        return True

    def close(self, linger_s: float = 0.0) -> None:
        """Close; in the loop's thread.

        Args:
            linger_s: Seconds to wait for the other end to accept unsent data.
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
                    self._socket.sendall(b"".join(left for _, left in self._leaving), socket.MSG_NOSIGNAL)
            self._leaving.clear()
            self._socket.close()

    def _leave(self) -> None:
        """Send queued data, unless another thread does: that one checks again when it has finished."""
        while self._leaving and not self._full and self._sending.acquire(blocking=False):
            try:
                self._full = not self._sent()
                if self._full:
                    self._loop.call_soon_threadsafe(self._write_later)
            finally:
                self._sending.release()

    def _sent(self) -> bool:
        """Send as much as the other end accepts; returns whether that was everything."""
        while self._leaving:
            given, first = self._leaving[0]
            try:
                sent = self._socket.send(first, socket.MSG_NOSIGNAL)
            except BlockingIOError:
                return False
            except OSError:  # both readers see the end, after the data that arrived before
                self._leaving.clear()
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_WR)
                break
            if sent == len(first):
                self._leaving.popleft()
            else:
                self._leaving[0] = given, first[sent:]
        return True

    def _write_later(self) -> None:
        if self.open:
            self._loop.add_writer(self._socket, self._write)

    def _write(self) -> None:
        self._loop.remove_writer(self._socket)
        self._full = False
        self._leave()

    def _read(self) -> bool:
        """Read once; returns whether there was data."""
        if not self._reading.acquire(blocking=False):
            return False  # another thread reads; remaining data is signalled again
        try:
            data = self._receive_all()
            if data:
                self._add(data, self._take)
        finally:
            self._reading.release()
        if data == b"" or self._lost_track:
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
        """Read once: None if nothing has arrived, empty at the end."""
        try:
            return self._socket.recv(READ)
        except BlockingIOError:
            return None
        except OSError:  # the other end has died with unread messages
            return b""

    def _add(self, data: bytes, take: Take) -> None:
        if self._lost_track:
            return
        self._parts.append(data)
        self._have += len(data)
        if self._have >= self._need:
            messages = self._whole()
            if messages:
                take(messages)

    def _whole(self) -> list[bytes]:
        """Extract the complete messages from the data that was read."""
        data = b"".join(self._parts)
        messages, at = [], 0
        while True:
            self._need = _LENGTH.size
            if len(data) - at < self._need:
                break
            (length,) = _LENGTH.unpack_from(data, at)
            if length > MOST_MESSAGE:
                self._lost_track = True
                break
            self._need += length
            if len(data) - at < self._need:
                break
            messages.append(data[at + _LENGTH.size : at + self._need])
            at += self._need
        rest = data[at:]
        self._parts, self._have = [rest] if rest else [], len(rest)
        return messages

    def _end(self) -> None:
        if self.open:
            self.close()
            self._lost()


@functools.cache
def _close_in_children() -> None:
    """Let forked children close these connections, which would otherwise outlive this process in them."""
    os.register_at_fork(after_in_child=_close_all)


def _close_all() -> None:
    for connected in tuple(_open):
        connected.close()
