"""Outgoing queue of a rank: sends messages and cell output to the head in order, from every thread."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import msgspec

from dtrain_lab.errors import WireMismatch
from dtrain_lab.machine.signals import deferred_handlers
from dtrain_lab.wire import links
from dtrain_lab.wire.codec import chunks
from dtrain_lab.wire.links import CellOutput, CellReply, Message

events = logging.getLogger("dtrain_lab.rank")
COALESCE_S = 0.010
"""Output is sent at once, and then at most once per this interval (seconds)."""
BIG = 1 << 18


class Channel(Protocol):
    """The connection to the head."""

    def send(self, messages: list[bytes]) -> None:
        """Send messages in order."""


class Outbox:
    """Queue of messages to the head, sent in order and several at once.

    All methods may be called by any thread, by signal handlers and by finalizers. So no thread waits for
    another one, which may itself be in a handler that waits for this one: each adds its task to the queue,
    and one thread at a time processes the queue. No signal handler runs during that, because it may wait for
    the answer to a message that is still in the queue. While a cell's code runs on the main thread, that
    thread only posts: an interrupt must not come between a message and its bookkeeping.

    Args:
        loop: asyncio loop of the IOPub thread.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._channel: Channel | None = None
        self._tasks: deque[Callable[[], None]] = deque()
        self._working = threading.Lock()
        """Held by the thread that processes the queue; never waited for."""
        self._iopub = self._writer = 0
        """Threads: ipykernel's for output, and the one whose `write_out` is running."""
        self._written: list[Message] = []
        self._waiting: list[Message] = []
        self._bytes = 0
        self._last = 0.0
        self._later = False
        """Whether a flush is due within `COALESCE_S`."""

    def open(self, channel: Channel) -> None:
        """Start to send; called on the IOPub thread.

        Args:
            channel: connected to the head.
        """
        self._channel = channel
        self._iopub = threading.get_ident()

    def post(self, message: Message, *, now: bool = False) -> None:
        """Queue a message, which the IOPub thread sends.

        Args:
            message: for the head.
            now: send at once, as in `put`.
        """
        self._tasks.append(partial(self._put, message, now=now))
        self._loop.call_soon_threadsafe(self._work)

    def put(self, message: Message, *, now: bool = False) -> None:
        """Queue a message and send it soon, after all that were queued before.

        Args:
            message: for the head.
            now: send at once, rather than together with other messages of the next 10 ms.
        """
        self._do(partial(self._put, message, now=now))

    def output(self, message: Message) -> None:
        """Queue output: in place of the text, if a stream is being written out; otherwise at the end of the
        queue."""
        mine = threading.get_ident()
        if mine == self._writer:
            self._written.append(message)
        elif mine == self._iopub:
            self.put(message)
        else:
            self.post(message)

    def write_out(self, write: Callable[[], None]) -> None:
        """Let a stream write out its text, after everything that was queued before.

        Args:
            write: passes the text to `output`.
        """
        self._do(partial(self._write_out, write))

    def finish(self, message: Message, writes: Sequence[Callable[[], None]]) -> None:
        """Queue a message after the remaining text of streams, and send both at once.

        Args:
            message: for the head.
            writes: one function of each stream, which passes its text to `output`.
        """
        self._do(partial(self._finish, message, writes))

    def flush(self) -> None:
        """Send all queued messages now."""
        self._do(self._flush)

    def _do(self, task: Callable[[], None]) -> None:
        self._tasks.append(task)
        self._work(task)

    def _work(self, mine: Callable[[], None] | None = None) -> None:
        """Process the queue, unless another thread does: that one checks the queue again after releasing the
        lock.

        A task that fails does not affect later ones.

        Args:
            mine: the task whose failure is raised; those of other threads' tasks are logged.
        """
        failed: Exception | None = None
        with deferred_handlers:
            while self._tasks and self._working.acquire(blocking=False):
                try:
                    failed = self._run_tasks(mine) or failed
                finally:
                    self._working.release()
        if failed is not None:
            raise failed

    def _run_tasks(self, mine: Callable[[], None] | None) -> Exception | None:
        """Run the queued tasks; returns the failure of the task `mine`."""
        failed: Exception | None = None
        while self._tasks:
            task = self._tasks.popleft()
            try:
                task()
            except Exception as error:  # noqa: BLE001 # raised by `_work`, or logged
                if task is mine:
                    failed = error
                else:
                    events.exception("the output of another thread could not be sent")
        return failed

    def _write_out(self, write: Callable[[], None]) -> None:
        try:
            self._collect(write)
        finally:
            for message in self._written:
                self._put(message)

    def _collect(self, write: Callable[[], None]) -> None:
        self._written = []
        self._writer = threading.get_ident()
        try:
            write()
        finally:
            self._writer = 0

    def _finish(self, message: Message, writes: Sequence[Callable[[], None]]) -> None:
        for write in writes:
            try:
                self._collect(write)
            except Exception:  # noqa: BLE001 # the head waits for the message, and gets it in any case
                events.exception("a stream's last text could not be written out")
            finally:
                self._waiting += self._written
        self._put(message, now=True)

    def _put(self, message: Message, *, now: bool = False) -> None:
        self._waiting.append(message)
        if isinstance(message, CellOutput):
            self._bytes += len(message.text) + len(message.data)
        if now or self._bytes > BIG or time.monotonic() - self._last > COALESCE_S:
            self._flush()
        elif not self._later:
            self._later = True
            self._loop.call_soon_threadsafe(self._flush_later)

    def _flush_later(self) -> None:
        self._loop.call_later(COALESCE_S, self._due)

    def _due(self) -> None:
        self._later = False
        self.flush()

    def _flush(self) -> None:
        if self._channel is None or not self._waiting:
            return
        messages = _joined(self._waiting)
        self._waiting, self._bytes, self._last = [], 0, time.monotonic()
        self._channel.send([data for message in messages if (data := _encoded(message)) is not None])


def _encoded(message: Message) -> bytes | None:
    """Encode a message; one that is too long is replaced by a short one that says so, if a cell is
    waiting."""
    data = links.encode(message)
    try:
        chunks.check(data)
    except WireMismatch as error:
        if isinstance(message, CellReply):
            return links.encode(
                CellReply(message.cell, message.rank, "raised", type(error).__name__, error.message)
            )
        if isinstance(message, CellOutput):
            text = f"dtrain-lab: an output is left out. {error.message}\n"
            return links.encode(CellOutput(cell=message.cell, rank=message.rank, kind="stderr", text=text))
        events.error("a message to the head is left out: %s", error.message)
        return None
    return data


def _joined(messages: list[Message]) -> list[Message]:
    """Merge neighbouring texts of one cell and stream into one message."""
    joined: list[Message] = []
    for message in messages:
        before = joined[-1] if joined else None
        if (
            isinstance(message, CellOutput)
            and isinstance(before, CellOutput)
            and message.text
            and (before.cell, before.kind, before.parent, before.data)
            == (message.cell, message.kind, message.parent, message.data)
        ):
            joined[-1] = msgspec.structs.replace(
                before, text=before.text + message.text, through=message.through
            )
        else:
            joined.append(message)
    return joined
