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
import signal
import socket
from collections.abc import Callable
from contextlib import nullcontext

from dtrain_lab.machine.interrupts import held_interrupts


class Turns:
    """Which thread reads a socket."""

    def __init__(self, read: socket.socket) -> None:
        self._socket = read
        self._main, self._iopub = select.epoll(), select.epoll()
        self._iopub.register(self._socket, select.EPOLLIN)

    @property
    def for_main(self) -> int:
        """Descriptor that is readable where the main thread is to read."""
        return self._main.fileno()

    @property
    def for_iopub(self) -> int:
        """Descriptor that is readable where the IOPub thread is to read."""
        return self._iopub.fileno()

    def to_main(self) -> None:
        """The main thread reads from now on."""
        self._move(self._iopub, self._main)

    def to_iopub(self) -> None:
        """The IOPub thread reads from now on."""
        self._move(self._main, self._iopub)

    def _move(self, source: select.epoll, target: select.epoll) -> None:
        # in this order, so that an interrupt in between leaves the socket with both rather than with neither;
        # an error: the connection is closed (its descriptor is -1), or an interrupt has been here before
        with contextlib.suppress(OSError, ValueError):
            target.register(self._socket, select.EPOLLIN)
        with contextlib.suppress(OSError, ValueError):
            source.unregister(self._socket)


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
        self.register(turns.for_main, selectors.EVENT_READ)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for events."""
        turns = self._turns
        if turns is None:
            return super().select(timeout)
        waits = timeout is None or timeout > 0
        try:
            if waits:
                turns.to_main()
            events = super().select(timeout)
            others = [event for event in events if event[0].fd != turns.for_main]
            if len(others) < len(events):
                # a loop in a cell (nest_asyncio) is interrupted like the cell
                ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
                with nullcontext() if ignored else held_interrupts():
                    self._read()
        finally:
            if waits:
                turns.to_iopub()
        return others


def main_loop() -> MainSelector:
    """Give the main thread a loop whose selector can read orders; to be called before it has one."""
    selector = MainSelector()
    asyncio.set_event_loop(asyncio.SelectorEventLoop(selector))
    return selector
