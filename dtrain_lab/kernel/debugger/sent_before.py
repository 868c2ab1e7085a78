"""Breakpoints that the page sent before a cell, in another channel than the cell.

A page that runs a cell right after an edit sends the breakpoints of its new text, and then the cell. The
kernel's control thread receives the first and its main thread the second, at the same time.

A click in the gutter makes the page ask the kernel several times, one request after the other. A page that
runs a cell meanwhile says so before the cell, and again once it has sent all breakpoints.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SETS = ("dumpCell", "setBreakpoints")
TURNS = 5
"""Turns of the control thread's loop without such a request, after which none is on its way."""
TURN_S = 0.001
WITHIN_S = 2.0
"""Seconds after which a cell is run anyway: a rank may not answer."""
ANNOUNCED_WITHIN_S = 15.0
"""Further seconds if the page has said that more are to come: it may have been closed since."""


class SentBefore:
    """Lets a cell wait for the breakpoints that were sent before it."""

    def __init__(self) -> None:
        self._serving = 0
        self._announced = False
        """Whether the page has yet to send breakpoints that were set before the cell was run."""

    def announce(self, *, pending: bool) -> None:
        """Called in the control thread when the page says whether it has yet to send breakpoints.

        Args:
            pending: Whether it has.
        """
        self._announced = pending

    @contextmanager
    def serving(self, command: str) -> Iterator[None]:
        """Context in which a request is served, in the control thread.

        Args:
            command: The request's command.
        """
        counts = command in SETS
        self._serving += counts
        try:
            yield
        finally:
            self._serving -= counts

    def wait(self, io_loop: Any) -> bool:
        """Wait in the main thread until the control thread has served what has arrived.

        Args:
            io_loop: The control thread's loop.

        Returns:
            False if the page has not sent in time what it said was to come. What is only not answered yet
            reaches the ranks before the cell, which waits for the same lock.
        """
        served = threading.Event()

        async def serve() -> None:
            quiet = 0
            while quiet < TURNS:
                await asyncio.sleep(TURN_S)
                quiet = 0 if self._serving or self._announced else quiet + 1
            served.set()

        io_loop.add_callback(serve)
        try:
            if not served.wait(WITHIN_S) and self._announced:
                served.wait(ANNOUNCED_WITHIN_S)
            return served.is_set() or not self._announced
        finally:
            if not served.is_set():  # or an interrupt: the next cell does not wait for this page again
                self._announced = False
