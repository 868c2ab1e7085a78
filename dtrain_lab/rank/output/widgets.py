"""Delivers front ends' comm messages to a rank's widgets, and routes the output of their callbacks."""

from __future__ import annotations

import contextlib
import contextvars
import queue
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from dtrain_lab.rank.cells.runner import CellRunner, cell_header, drain
from dtrain_lab.rank.ipykernel import main_lock
from dtrain_lab.wire.links import Comm


class Widgets:
    """Delivers comm messages of front ends to the widgets of this rank.

    Args:
        kernel: this rank's kernel.
        cells: runs the cells of this rank.
    """

    def __init__(self, kernel: Any, cells: CellRunner) -> None:
        self._kernel = kernel
        self._cells = cells
        self._queued: deque[tuple[Comm, Callable[[], None]]] = deque()
        """Messages for the main thread, each with what is called once its callbacks have run."""
        self._beside: queue.SimpleQueue[Callable[[], None]] | None = None
        self._taken = 0
        """Messages given to the separate thread."""
        self._done = 0
        """Messages that it has delivered."""
        self.asked: Callable[[str], None] = lambda _: None
        """Called with a widget before a front end is told its state."""

    @property
    def beside(self) -> bool:
        """Whether the separate thread still delivers: later messages must not overtake those there."""
        return self._taken != self._done

    @property
    def queued(self) -> bool:
        """Whether messages wait for the main thread."""
        return bool(self._queued)

    def enqueue(self, order: Comm, done: Callable[[], None]) -> None:
        """Keep a message that came while no cell ran, until `take`. Called on the IOPub thread.

        Args:
            order: The widget's message.
            done: Called once the message was handled.
        """
        self._queued.append((order, done))

    async def take(self) -> None:
        """Deliver a queued message on the main thread, while no cell runs."""
        async with main_lock(self._kernel):
            for order, done in self._next():
                try:
                    self._take(order)
                finally:
                    done()

    def move_beside(self) -> None:
        """Deliver beside a cell that has begun what was queued behind its order; on the IOPub thread."""
        while following := self._next():
            self.take_beside(*following[0])

    def _next(self) -> list[tuple[Comm, Callable[[], None]]]:
        """The first queued message; none where the other thread has taken it."""
        with contextlib.suppress(IndexError):
            return [self._queued.popleft()]
        return []

    def take_beside(self, order: Comm, done: Callable[[], None]) -> None:
        """Deliver a message while a cell runs, on a separate thread, as JupyterLab expects of kernels.

        So a button can stop a training loop.

        Args:
            order: the message.
            done: called on that thread once the callbacks have run.
        """
        if self._beside is None:
            self._beside = queue.SimpleQueue()
            context = contextvars.Context()
            threading.Thread(
                target=context.run, args=(self._serve, self._beside), name="widgets", daemon=True
            ).start()

        def take() -> None:
            try:
                self._take(order)
            finally:
                # from here on, output of the cell's threads belongs to the cell again
                self._kernel.set_parent([], self._cells.parent)
                self._done += 1
                done()

        self._taken += 1
        self._beside.put(take)

    def _take(self, order: Comm) -> None:
        kernel = self._kernel
        header = {**cell_header(order.cell), "msg_type": order.kind}
        if order.parent:
            header.update(msg_id=order.parent, dtrain_parent=order.parent)
        message = {
            "header": header,
            "parent_header": {},
            "metadata": msgspec.json.decode(order.metadata) if order.metadata else {},
            "content": msgspec.json.decode(order.data),
            "buffers": [memoryview(buffer) for buffer in order.buffers],
        }
        kernel.set_parent([], message)
        content = message["content"]
        if order.kind == "comm_msg" and content["data"].get("method") == "request_state":
            self.asked(content["comm_id"])
        with self._cells.quick_streams():
            getattr(kernel.comm_manager, order.kind)(None, None, message)
            drain()

    @staticmethod
    def _serve(orders: queue.SimpleQueue[Callable[[], None]]) -> None:
        while True:
            orders.get()()
