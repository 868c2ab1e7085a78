"""Reads orders on the main thread while it is idle, so that a cell starts without a thread switch.

While the main thread is busy, in a cell or otherwise, the kernel's IOPub thread reads them, so that an abort
gets through. Each thread's loop waits for its own epoll, and the thread whose epoll has the socket registered
reads. Moving the socket wakes no thread.
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

from dtrain_lab.machine.signals import deferred_handlers, get_handler, held_interrupts


class SocketHandoff:
    """Hands the socket with orders to the thread that should read it: the main thread or the IOPub thread."""

    def __init__(self, read: socket.socket) -> None:
        self._socket = read
        self._main, self._iopub = select.epoll(), select.epoll()
        self._iopub.register(self._socket, select.EPOLLIN)
        self._signals, self._signalled = socket.socketpair()
        self._signals.setblocking(False)
        self._signalled.setblocking(False)

    @property
    def for_main(self) -> int:
        """Descriptor that is readable when the main thread should read."""
        return self._main.fileno()

    @property
    def for_iopub(self) -> int:
        """Descriptor that is readable when the IOPub thread should read."""
        return self._iopub.fileno()

    def to_main(self) -> None:
        """Let the main thread read from now on."""
        self._move(self._iopub, self._main)

    def to_iopub(self) -> None:
        """Let the IOPub thread read from now on."""
        self._move(self._main, self._iopub)

    def to_both(self) -> None:
        """Let the IOPub thread read, too, until the main thread's next wait. May be called by any thread."""
        with contextlib.suppress(OSError, ValueError):
            self._iopub.register(self._socket, select.EPOLLIN)

    def hear_signals(self) -> None:
        """Let the IOPub thread read while a signal handler runs; called in that thread's loop.

        The handler interrupts the main thread's wait, and may itself wait for an order.
        """
        asyncio.get_running_loop().add_reader(self._signals, self._read_signal)

    def tell_signals(self) -> None:
        """Let Python notify the IOPub thread of signals; called on the main thread."""
        signal.set_wakeup_fd(self._signalled.fileno(), warn_on_full_buffer=False)

    def _read_signal(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._signals.recv(1 << 12)
        self.to_both()

    def _move(self, source: select.epoll, target: select.epoll) -> None:
        # register first: after an interrupt in between, both epolls have the socket rather than neither;
        # it raises if the connection is closed (descriptor -1), or if an earlier call was interrupted
        with contextlib.suppress(OSError, ValueError):
            target.register(self._socket, select.EPOLLIN)
        with contextlib.suppress(OSError, ValueError):
            source.unregister(self._socket)


class MainSelector(selectors.EpollSelector):
    """The main thread's selector: while it waits, the main thread reads orders."""

    def __init__(self) -> None:
        super().__init__()
        self._handoff: SocketHandoff | None = None
        self._read: Callable[[], object] = lambda: None
        self._refused = False
        """Whether the IOPub thread is handling an order that it has read; it then continues to read."""
        self.raised: Callable[[Exception], None] = lambda _: None
        """Called with an error that the user's signal handler raised while no cell ran."""

    def attend(self, handoff: SocketHandoff, read: Callable[[], object]) -> None:
        """Start to read orders while this thread waits.

        Args:
            handoff: Which thread reads.
            read: Reads what has arrived; returns False if the IOPub thread is reading.
        """
        self._handoff, self._read = handoff, read
        self.register(handoff.for_main, selectors.EVENT_READ)
        handoff.tell_signals()

    def share(self) -> None:
        """Let the IOPub thread read what the caller waits for: the call may come during this thread's
        wait."""
        if self._handoff is not None:
            self._handoff.to_both()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for events."""
        handoff = self._handoff
        if handoff is None:
            return super().select(timeout)
        waits = (timeout is None or timeout > 0) and not self._refused
        self._refused = False
        try:
            events = self._wait(handoff, timeout, waits)
            others = [event for event in events if event[0].fd != handoff.for_main]
            if len(others) < len(events):
                self._read_orders()
        finally:
            if waits:
                handoff.to_iopub()
        return others

    def _wait(
        self, handoff: SocketHandoff, timeout: float | None, reads: bool
    ) -> list[tuple[selectors.SelectorKey, int]]:
        try:
            if reads:
                with deferred_handlers:  # a pending signal notifies the IOPub thread again, at the end
                    handoff.to_main()
            return super().select(timeout)
        except Exception as error:  # noqa: BLE001 # a handler of the user's may raise anything
            self._pass(error)
            return []

    def _read_orders(self) -> None:
        ours: Exception | None = None
        try:
            # a loop in a cell (nest_asyncio) is interrupted like the cell
            with nullcontext() if _between_cells() else held_interrupts(), deferred_handlers:
                try:
                    self._refused = self._read() is False
                except Exception as error:  # noqa: BLE001 # raised below: no handler of the user's runs here
                    ours = error
        except Exception as error:  # noqa: BLE001 # that of a handler which was deferred
            self._pass(error)
        if ours is not None:
            raise ours

    def _pass(self, error: Exception) -> None:
        """Report an exception that a signal handler raised between cells, as it would end this loop and the
        rank.

        Inside a cell the exception is raised: a handler may end a cell that takes too long. An error of the
        selector itself is also raised.
        """
        inner = error.__traceback__
        while inner is not None and inner.tb_next is not None:
            inner = inner.tb_next
        in_selector = inner is not None and inner.tb_frame.f_code.co_filename == selectors.__file__
        if in_selector or not _between_cells():
            raise error
        self.raised(error)


def _between_cells() -> bool:
    """Whether no cell's code runs on the main thread: SIGINT is ignored then."""
    return get_handler(signal.SIGINT) == signal.SIG_IGN


def main_loop() -> MainSelector:
    """Give the main thread a loop whose selector can read orders; call this before it has a loop."""
    selector = MainSelector()
    asyncio.set_event_loop(asyncio.SelectorEventLoop(selector))
    return selector
