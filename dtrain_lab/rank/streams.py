"""stdout and stderr of a rank: Python's, C code's, and those of child processes."""

from __future__ import annotations

import codecs
import fcntl
import os
import select
import struct
import termios
import threading
from typing import Any

from ipykernel.iostream import OutStream

PIECE = 1 << 16


class RankStream(OutStream):  # type: ignore[misc]
    """ipykernel's stream, with an end that can be known.

    What C code and child processes write goes through a pipe that a thread reads. At the end of a cell all
    of it has to be there, so the thread only waits for bytes, and takes them under a lock; `drain` takes
    what is left under the same lock. A forked child (a DataLoader's worker) writes into that pipe, because
    the thread that would send its text does not exist there.
    """

    def __init__(self, session: Any, pub_thread: Any, name: str) -> None:
        # "force": under a test runner's variables ipykernel would leave the descriptors alone
        super().__init__(session, pub_thread, name, watchfd="force")

    def _setup_stream_redirects(self, name: str) -> None:
        self._taking = threading.Lock()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        super()._setup_stream_redirects(name)

    def write(self, string: str) -> int | None:
        """Write text; from a forked child, through the pipe."""
        if os.getpid() != self._master_pid and self._should_watch:
            return os.write(self._original_stdstream_fd, string.encode("utf-8", "replace"))
        written: int | None = super().write(string)
        return written

    def drain(self) -> None:
        """Take what was written to the descriptor so far."""
        if not self._should_watch:
            return
        with self._taking:
            while _waiting(self._fid):
                self._take()

    def _watch_pipe_fd(self) -> None:
        while self._should_watch:
            select.select([self._fid], [], [])
            with self._taking:
                if _waiting(self._fid) and not self._take():
                    return

    def _take(self) -> bool:
        raw = os.read(self._fid, PIECE)
        text = self._decoder.decode(raw, final=not raw)
        if text:
            super().write(text)
        return bool(raw)


def _waiting(descriptor: int) -> int:
    (count,) = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4))
    return int(count)
