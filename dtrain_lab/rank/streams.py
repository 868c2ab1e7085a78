"""stdout and stderr of a rank: Python's, C code's, and those of child processes."""

from __future__ import annotations

import codecs
import fcntl
import os
import select
import struct
import sys
import termios
import threading
import time
from typing import Any, ClassVar

from ipykernel.iostream import OutStream

from dtrain_lab.core.words import PIECE, Region

PART = 1 << 14
"""Characters that are kept and sent as one: a fourth of a region, in bytes at most a quarter of it."""
SPACE_WITHIN_S = 30.0
"""A head that confirms nothing for so long is gone; its ranks end with it, and need not wait for room."""


class RankStream(OutStream):  # type: ignore[misc]
    """ipykernel's stream, with an end that can be known, and words that outlive the rank.

    What C code and child processes write goes through a pipe that a thread reads. At the end of a cell all
    of it has to be there, so the thread only waits for bytes, and takes them under a lock; `drain` takes
    what is left under the same lock. A forked child (a DataLoader's worker) writes into that pipe, because
    the thread that would send its text does not exist there.

    All text is kept in memory shared with the node agent until the head has confirmed it. A writer waits
    while that is full.
    """

    regions: ClassVar[dict[str, Region]] = {}
    """Stream → its shared memory; set before the engine makes its streams."""
    pipes: ClassVar[dict[str, tuple[int, int]]] = {}
    """Stream → both ends of its pipe; the node agent can read what is left in it."""

    def __init__(self, session: Any, pub_thread: Any, name: str) -> None:
        self._region = self.regions[name]
        self._room = threading.Event()
        self._sent = 0
        # "force": under a test runner's variables ipykernel would leave the descriptors alone
        super().__init__(session, pub_thread, name, watchfd="force")

    def _setup_stream_redirects(self, name: str) -> None:
        self._taking = threading.Lock()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        # as ipykernel's own, with a pipe that the node agent shares
        reading, writing = self.pipes[name]
        number = self._original_stdstream_fd = getattr(sys, name).fileno()
        self._original_stdstream_copy = os.dup(number)
        os.dup2(writing, number)
        os.close(writing)
        self._fid = reading
        self._exc = None
        self.watch_fd_thread = threading.Thread(target=self._watch_pipe_fd, daemon=True)
        self.watch_fd_thread.start()

    def write(self, string: str) -> int | None:
        """Write text; from a forked child, through the pipe."""
        if os.getpid() != self._master_pid and self._should_watch:
            return os.write(self._original_stdstream_fd, string.encode("utf-8", "replace"))
        if not isinstance(string, str):
            raise TypeError(f"write() argument must be str, not {type(string).__name__}")
        for start in range(0, len(string), PART):
            self._put(string[start : start + PART])
        return len(string)

    def sent(self, text: str) -> int:
        """This text leaves for the head; returns the bytes that have left since the start."""
        self._sent += len(_bytes(text))
        return self._sent

    def begin_count(self) -> None:
        """Everything so far has left, for nobody who counts: the engine's own start."""
        self._flush()
        self._sent = self._region.written
        self._region.seen(self._sent)

    def seen(self, through: int) -> None:
        """The head has everything up to this count."""
        self._region.seen(through)
        self._room.set()

    def drain(self) -> None:
        """Take what was written to the descriptor so far."""
        if not self._should_watch:
            return
        with self._taking:
            while _waiting(self._fid):
                self._take()

    def _put(self, text: str, *, taken: bool = False) -> None:
        data = _bytes(text)
        if len(data) > self._region.space and threading.current_thread() is not self.pub_thread.thread:
            self._wait_for_room(len(data))
        if len(data) <= self._region.space:
            self._region.write(data, taken=taken)
        if text:
            super().write(text)

    def _wait_for_room(self, size: int) -> None:
        until = time.monotonic() + SPACE_WITHIN_S
        while size > self._region.space and time.monotonic() < until:
            self._room.clear()
            if size > self._region.space:
                self._room.wait(1.0)

    def _watch_pipe_fd(self) -> None:
        while self._should_watch:
            select.select([self._fid], [], [])
            with self._taking:
                if _waiting(self._fid) and not self._take():
                    return

    def _take(self) -> bool:
        room = self._region.take(min(_waiting(self._fid), PIECE))
        count = os.readv(self._fid, [room])
        text = self._decoder.decode(bytes(room[:count]), final=not count)
        parts = [text[start : start + PART] for start in range(0, len(text), PART)] or [""]
        for part in parts[:-1]:
            self._put(part)
        self._put(parts[-1], taken=True)
        return bool(count)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _waiting(descriptor: int) -> int:
    (count,) = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4))
    return int(count)
