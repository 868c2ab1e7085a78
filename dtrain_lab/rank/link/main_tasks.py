"""Work of the main thread's loop, begun in the order in which the rank's two threads give it."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import deque
from collections.abc import Callable
from typing import Any

events = logging.getLogger("dtrain_lab.rank")


class MainTasks:
    """Tasks of the main thread's loop. Created on the main thread, whose context they run in.

    Args:
        loop: Loop of the main thread.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._context = contextvars.copy_context()
        self._running: set[asyncio.Task[None]] = set()
        self._given: deque[Callable[[], Any]] = deque()
        """Work that the IOPub thread has scheduled and that has not begun."""

    def hand_over(self, start: Callable[[], Any]) -> None:
        """Schedule work; called on the IOPub thread.

        Args:
            start: Makes the coroutine, on the main thread.
        """
        self._given.append(start)
        self._loop.call_soon_threadsafe(self._take_given)

    def begin(self, start: Callable[[], Any]) -> None:
        """Begin work after that which was handed over before; called on the main thread.

        Args:
            start: Makes the coroutine.
        """
        if self._given:
            self._given.append(start)
            self._loop.call_soon(self._take_given)
        else:
            self._spawn(start)

    def _take_given(self) -> None:
        self._spawn(self._given.popleft())

    def _spawn(self, start: Callable[[], Any]) -> None:
        task = self._loop.create_task(start(), context=self._context)
        self._running.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            events.error("an order of the head failed on the main thread", exc_info=error)
