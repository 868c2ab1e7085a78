"""stdout and stderr of a rank: output of Python, of C code and of child processes."""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import os
import select
import struct
import sys
import termios
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar

from ipykernel.iostream import OutStream

from dtrain_lab.cells.output_buffer import PIECE, Region
from dtrain_lab.rank.output.flush_timer import FlushTimer
from dtrain_lab.rank.output.write_order import WriteOrder

PART = 1 << 14
"""Maximum characters stored and sent as one piece; in bytes at most a quarter of a region."""
SPACE_WITHIN_S = 30.0
"""Timeout for free space, seconds: a head that confirms nothing in this time is gone, and its ranks too."""

LOCK_WITHIN_S = 0.01
"""Maximum wait of the IOPub thread for a stream's buffers, seconds; others hold them for microseconds."""
LATER_S = 0.05
"""Seconds until the next attempt."""

_QUICK = hasattr(OutStream, "_flush_buffers")
"""Whether ipykernel's stream has the names that our flush needs; otherwise its own flush is used."""


class RankStream(OutStream):  # type: ignore[misc]
    """ipykernel's stream, which can be drained at a cell's end, and whose last text survives the rank.

    Output of C code and child processes goes through a pipe that a thread reads. At the end of a cell all of
    it must have been read, so the thread only waits for bytes and reads them under a lock; `drain` reads the
    rest under the same lock. A forked child (a DataLoader worker) writes into that pipe, because the thread
    that would send its text does not exist in the child.

    All text is kept in memory shared with the node agent until the head has confirmed it. A writer waits
    while that memory is full.
    """

    regions: ClassVar[dict[str, Region]] = {}
    """Shared memory by stream; set before the engine creates its streams."""
    pipes: ClassVar[dict[str, tuple[int, int]]] = {}
    """Both ends of the pipe by stream; the node agent can read what is left in it when the rank dies."""
    straight: ClassVar[Callable[[str, dict[str, Any], str], bool]] = lambda *_: False
    """Sends text of a cell to the head, given the stream's name, the parent's header and the text; false for
    other text, which becomes a message of Jupyter."""
    write_serially: ClassVar[Callable[[Callable[[], None]], None]] = lambda write: write()
    """Calls a function that passes text on, after all earlier messages; one call at a time."""
    timer: ClassVar[FlushTimer | None] = None
    """Flushes written text later; None if the IOPub thread has to be woken for that instead."""
    made: ClassVar[dict[str, RankStream]] = {}
    """The streams by name: `sys.stdout` may be another object, because programs redirect it."""
    order: ClassVar[WriteOrder] = WriteOrder()
    """The order of writes to all streams, in which their texts are passed on."""
    writers: ClassVar[set[int]] = set()
    """Threads inside a write, which hold a lock that the IOPub thread may need."""

    _flush_pending = False

    def __init__(self, session: Any, pub_thread: Any, name: str) -> None:
        self._region = self.regions[name]
        self._waiting_for_space: deque[threading.Lock] = deque()
        """One held lock for each thread that waits for free space; to be released once."""
        # the user's threads print concurrently; a signal handler may interrupt a print of its own thread
        self._writing = threading.RLock()
        self._sent = 0
        self._counts = False
        """Whether written text is sent to the head."""
        self.made[name] = self
        # "force": ipykernel would not redirect the descriptors where a test runner's variables are set
        super().__init__(session, pub_thread, name, watchfd="force")

    def _setup_stream_redirects(self, name: str) -> None:
        self._taking = threading.Lock()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        # as in ipykernel, but with a pipe that the node agent shares
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
        """Write text; in a forked child through the pipe.

        Raises:
            TypeError: `string` is not a str.
        """
        if os.getpid() != self._master_pid and self._should_watch:
            return os.write(self._original_stdstream_fd, string.encode("utf-8", "replace"))
        if not isinstance(string, str):
            raise TypeError(f"write() argument must be str, not {type(string).__name__}")
        for start in range(0, len(string), PART):
            self._put(string[start : start + PART])
        return len(string)

    def sent(self, text: str) -> int:
        """Count text that is sent to the head; returns the bytes sent since the start."""
        self._sent += len(_bytes(text))
        return self._sent

    def begin_count(self) -> None:
        """Start counting here: text of the engine's own start is taken as sent and confirmed.

        Called on the IOPub thread.
        """
        self._flush()
        self._sent = self._region.written
        self._region.confirm(self._sent)
        self._counts = True

    def confirm(self, through: int) -> None:
        """Free the memory of text that the head has confirmed.

        Args:
            through: bytes confirmed since the start.
        """
        self._region.confirm(through)
        # not an `Event`: a waiter may hold its internal lock while its signal handler waits for this thread
        with contextlib.suppress(IndexError):  # no thread is left
            while True:
                self._waiting_for_space.popleft().release()

    def flush(self) -> None:
        """Send what was written, and wait until it has been sent.

        A signal handler that has interrupted a write does not wait: the thread that sends may wait for that.
        """
        if threading.get_ident() in RankStream.writers:
            self.pub_thread.schedule(self._flush)
        else:
            super().flush()

    @classmethod
    def timed(cls) -> None:
        """Flush by a timer from now on; called in the IOPub thread's loop."""
        with contextlib.suppress(OSError):
            RankStream.timer = FlushTimer(
                cls._flush_all, lambda: any(s._flush_pending for s in cls.made.values())
            )

    @classmethod
    def flushed(cls) -> None:
        """Cancel the timer, because all streams have just been flushed."""
        if cls.timer is not None:
            cls.timer.stop(min(stream.flush_interval for stream in cls.made.values()))

    @classmethod
    def _flush_all(cls) -> None:
        # the first one writes out all
        for stream in cls.made.values():
            if stream._flush_pending:
                stream._flush()

    def _schedule_flush(self) -> None:
        if self.timer is None:
            super()._schedule_flush()
        else:
            # set before the timer, which checks this flag when it expires
            self._flush_pending = True
            # on every write: an interrupt may have kept the previous one from starting the timer
            self.timer.start(self.flush_interval)

    def drain(self) -> None:
        """Read everything that was written to the descriptor so far."""
        if not self._should_watch:
            return
        with self._taking:
            while _waiting(self._fid):
                self._take()

    def _flush(self) -> None:
        if os.getpid() != self._master_pid:  # a forked child, which has no thread to process the outbox
            super()._flush()
        else:
            RankStream.write_serially(self.write_out)

    def write_out(self) -> None:
        """Pass on what was written, and what was to the other streams, in the order of the writes.

        Called through `write_serially` only.
        """
        if not _QUICK:
            super()._flush()
            return
        streams = {**self.made, self.name: self}
        for name, parent, text in RankStream.order.arranged(
            {name: stream._ready() for name, stream in streams.items()}
        ):
            streams[name]._pass_on(parent, text)
        for stream in streams.values():
            stream._match()

    def _ready(self) -> list[tuple[dict[str, Any], str]]:
        """Take what was written; nothing if it has to be tried again later."""
        # reset before the text is taken, so that later writes schedule another flush
        self._flush_pending = False
        taken = self._taken()
        if taken is None:
            self._io_loop.call_later(LATER_S, self._flush)
            return []
        return taken

    def _pass_on(self, parent: dict[str, Any], text: str) -> None:
        if text and not RankStream.straight(self.name, parent, text):
            message = self.session.msg("stream", {"name": self.name, "text": text}, parent=parent)
            self.session.send(self.pub_thread, message, ident=self.topic)

    def _taken(self) -> list[tuple[dict[str, Any], str]] | None:
        """Take the text out of ipykernel's buffers.

        Returns:
            Each text with its parent's header; None if the IOPub thread can't have the buffers' lock: a
            signal handler has interrupted its holder, and may wait for what this thread does.
        """
        lock = getattr(self, "_buffer_lock", None)
        if lock is None or threading.current_thread() is not self.pub_thread.thread:
            return list(self._flush_buffers())
        if not lock.acquire(timeout=LOCK_WITHIN_S):
            return None
        try:
            return list(self._flush_buffers())
        finally:
            lock.release()

    def _match(self) -> None:
        """Make the count of written bytes match what was sent or is queued, after an interrupted write.

        The head would take the difference for text that it has not received.
        """
        if threading.get_ident() in RankStream.writers or not self._writing.acquire(blocking=False):
            return
        try:
            if not getattr(self, "_buffers", True):  # unknown in other versions of ipykernel
                RankStream.order.match(self.name)
                if self._counts:
                    self._region.match(self._sent)
        finally:
            self._writing.release()

    def _put(self, text: str, *, taken: bool = False) -> None:
        data = _bytes(text)
        if len(data) > self._region.space and threading.current_thread() is not self.pub_thread.thread:
            self._wait_for_space(len(data))
        mine = threading.get_ident()
        with self._writing:
            nested = mine in RankStream.writers
            try:
                RankStream.writers.add(mine)  # inside `try`, because an interrupt may follow at once
                if len(data) <= self._region.space:
                    self._region.write(data, taken=taken)
                if text:
                    super().write(text)
                    if _QUICK:
                        RankStream.order.note(self.name, len(text))
            finally:
                if not nested:
                    RankStream.writers.discard(mine)

    def _wait_for_space(self, size: int) -> None:
        until = time.monotonic() + SPACE_WITHIN_S
        while size > self._region.space and time.monotonic() < until:
            freed = threading.Lock()
            freed.acquire()
            self._waiting_for_space.append(freed)
            if size > self._region.space:
                freed.acquire(timeout=1.0)

    def _watch_pipe_fd(self) -> None:
        while self._should_watch:
            select.select([self._fid], [], [])
            with self._taking:
                if _waiting(self._fid) and not self._take():
                    return

    def _take(self) -> bool:
        buffer = self._region.take(min(_waiting(self._fid), PIECE))
        count = os.readv(self._fid, [buffer])
        text = self._decoder.decode(bytes(buffer[:count]), final=not count)
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
