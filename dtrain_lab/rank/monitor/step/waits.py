"""Current activity of the training thread: the collective in which it waits, and errors of our own hooks."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dtrain_lab.metrics import ring
from dtrain_lab.metrics.ring import BEAT, DOING, DOING_SINCE
from dtrain_lab.rank.monitor.step.cuda_stream import Event, StreamClock

now = time.monotonic_ns
ANY = 1 << 30
"""Number of collectives for a call that makes an unknown number of them."""
SEVERAL = frozenset(
    ring.OPERATION_INDEX[name]
    for name in (
        "all_gather_object",
        "broadcast_object_list",
        "gather_object",
        "scatter_object_list",
        "monitored_barrier",
        "reduce_scatter",
        "broadcast_buffers",
        "DDP's all_reduce",
        "all_gather_coalesced",
        "all_reduce_coalesced",
    )
)
"""Calls that make an unknown number of collectives."""
BARRIER = ring.OPERATION_INDEX["barrier"]


class Waits:
    """Measures the training thread's collectives; part of `Recorder`. Times are in ns of CLOCK_MONOTONIC.

    Args:
        writer: of the metrics ring.
    """

    def __init__(self, writer: ring.Writer) -> None:
        self.writer = writer
        self._cells = writer.cells
        self._main = threading.main_thread().ident
        self._depth = 0
        self.numbers: dict[int, int] = {}
        """Collectives called from Python in this cell, by checksum of the group."""
        self.stream: StreamClock | None = None
        """Clock of the GPU's compute stream; None while no GPU trains."""
        self.find_stream: Callable[[], StreamClock | None] = lambda: None
        self.exposed = self._calls = self._hooked_collectives = 0
        """This step's time in collectives, their calls, and how many the hooks know of."""

    def at_barrier(self) -> None:
        """Called when the training thread enters a barrier."""

    @property
    def watches(self) -> bool:
        """Whether this is the training thread, and not inside another collective."""
        return self._depth == 0 and threading.get_ident() == self._main

    @contextmanager
    def harmless(self) -> Iterator[None]:
        """Catch what a hook raises, so that hooks never break training; see `broke`."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 # hooks never break training
            self.broke(error)

    def broke(self, error: Exception) -> None:
        """Count an exception of a hook, and tell the user of the first one.

        Called directly by hooks that run in every step, where `harmless` costs too much.
        """
        self._cells[ring.ERRORS] += 1
        if self._cells[ring.ERRORS] == 1:
            print(
                f"dtrain-lab: the monitor can't follow this code ({type(error).__name__}: {error}); "
                "training continues, but some metrics may be missing.",
                file=sys.stderr,
            )

    @contextmanager
    def collective(self, operation: int, *, counts: bool = True) -> Iterator[None]:
        """Measure a collective that the training thread waits in.

        Args:
            operation: index into `ring.OPERATIONS`.
            counts: whether it counts as a call of its own, unlike a wait.
        """
        mark = self.enter(operation, counts=counts)
        try:
            yield
        finally:
            self.leave(mark)

    def enter(self, operation: int, *, counts: bool = True) -> tuple[int, Event | None]:
        """Called when a collective begins; arguments as of `collective`, which costs more.

        Returns:
            A mark for `leave`.
        """
        cells = self._cells
        self._depth = 1
        if operation == BARRIER:
            self.at_barrier()
        entered = now()
        self._hooked_collectives += (
            ANY if operation in SEVERAL else 1
        )  # a wait, too: its operation may be unseen
        if counts:
            self._calls += 1
            cells[ring.SEQUENCE] += 1
        cells[ring.ENTERED] = entered
        cells[ring.OPERATION] = operation
        stream = self.stream
        return entered, stream.mark() if stream is not None else None

    def leave(self, mark: tuple[int, Event | None]) -> None:
        """Called when a collective has ended, with what `enter` returned."""
        entered, begin = mark
        self._depth = 0
        cells = self._cells
        cells[ring.OPERATION] = 0
        left = now()
        cells[BEAT] = left
        self.exposed += left - entered
        if begin is not None and self.stream is not None:
            self.stream.waited(begin, left - entered)

    def doing(self, activity: int) -> int:
        """Set what the training thread does from now on.

        Args:
            activity: an index into `ring.DOINGS`.

        Returns:
            The time, ns.
        """
        cells = self._cells
        since = now()
        cells[DOING] = activity
        cells[DOING_SINCE] = cells[BEAT] = since
        return since
