"""Orders are read on the main thread while it is idle, so that a cell begins without a change of threads.

While the main thread is busy, in a cell or in anything else, the kernel's IOPub thread reads them: an abort
has to get through. Which of the two it is depends on where the socket is registered: each thread's loop waits
for an epoll of its own, and only one of them holds the socket. Moving it wakes no thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import select
import selectors
import socket
from collections.abc import Callable


class Turns:
    """Which thread reads a socket."""

    def __init__(self, read: socket.socket) -> None:
        self._socket = read.fileno()
        self._main, self._beside = select.epoll(), select.epoll()
        self._beside.register(self._socket, select.EPOLLIN)

    @property
    def main(self) -> int:
        """Descriptor that is readable where the main thread is to read."""
        return self._main.fileno()

    @property
    def beside(self) -> int:
        """Descriptor that is readable where the other thread is to read."""
        return self._beside.fileno()

    def to_main(self) -> None:
        """The main thread reads from now on."""
        self._move(self._beside, self._main)

    def to_beside(self) -> None:
        """The other thread reads from now on."""
        self._move(self._main, self._beside)

    def _move(self, source: select.epoll, target: select.epoll) -> None:
        with contextlib.suppress(OSError):  # the connection is closed, and its head gone
            source.unregister(self._socket)
            target.register(self._socket, select.EPOLLIN)


class MainSelector(selectors.EpollSelector):
    """The main thread's selector: while it waits, the main thread reads orders."""

    def __init__(self) -> None:
        super().__init__()
        self._turns: Turns | None = None
        self._read: Callable[[], None] = lambda: None

    def attend(self, turns: Turns, read: Callable[[], None]) -> None:
        """Begin to read orders while this thread waits.

        Args:
            turns: Which thread reads.
            read: Reads what has arrived.
        """
        self._turns, self._read = turns, read
        self.register(turns.main, selectors.EVENT_READ)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for events."""
        turns = self._turns
        if turns is None or (timeout is not None and timeout <= 0):
            return super().select(timeout)
        turns.to_main()
        try:
            events = super().select(timeout)
            others = [event for event in events if event[0].fd != turns.main]
            if len(others) < len(events):
                self._read()
        finally:
            turns.to_beside()
        return others


def main_loop() -> MainSelector:
    """Give the main thread a loop whose selector can read orders; to be called before it has one."""
    selector = MainSelector()
    asyncio.set_event_loop(asyncio.SelectorEventLoop(selector))
    return selector
