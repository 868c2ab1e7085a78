"""How long the stream that computes stands still for communication: by events, without waiting for them.

On a GPU a collective returns at once, and it is the compute stream that waits. Two events on that stream,
before the wait and after it, say how long; they are read when the device has passed them, some steps later.
Nothing here synchronizes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import torch

MOST = 256
"""Pairs that the device has not passed yet; a queue longer than that drops the oldest."""
MS = 1_000_000


class Event(Protocol):
    """What is used of `torch.cuda.Event`."""

    def record(self) -> None:
        """Put it on the current stream."""

    def query(self) -> bool:
        """Whether the device has passed it."""

    def elapsed_time(self, end: Any) -> float:
        """Milliseconds from this event to another; both have been passed."""


class StreamClock:
    """Pairs of events on the compute stream.

    Args:
        event: makes one that takes the time.
        capturing: whether the stream is being captured into a graph, where no time can be taken.
    """

    def __init__(self, event: Callable[[], Event], capturing: Callable[[], bool] = lambda: False) -> None:
        self._make = event
        self._capturing = capturing
        self._free: list[Event] = []
        self._pending: deque[tuple[Event, Event, int]] = deque()
        self.broken = False
        """The device refused: it is left alone from then on."""

    def mark(self) -> Event | None:
        """An event on the stream, here; None where no time can be taken."""
        if self.broken or self._capturing():
            return None
        try:
            event = self._free.pop() if self._free else self._make()
            event.record()
        except RuntimeError:  # the device is in an error of the user's own, who will hear of it
            self.broken = True
            return None
        return event

    def stood(self, begin: Event | None, counted: int) -> None:
        """The stream waited from `begin` until here; `counted` ns of that the CPU stood as well."""
        end = self.mark() if begin is not None else None
        if begin is None or end is None:
            return
        if len(self._pending) >= MOST:
            self._free += self._pending.popleft()[:2]
        self._pending.append((begin, end, counted))

    def read(self) -> int:
        """Nanoseconds that the stream stood longer than the CPU, of all pairs passed since the last call."""
        total = 0
        try:
            while self._pending and not self.broken:
                begin, end, counted = self._pending[0]
                if not end.query():
                    break
                total += max(0, round(begin.elapsed_time(end) * MS) - counted)
                self._pending.popleft()
                self._free += (begin, end)
        except RuntimeError:
            self.broken = True
        return total


def of_device() -> StreamClock | None:
    """The clock of this process's GPU, once it uses one."""
    if not torch.cuda.is_initialized():
        return None
    return StreamClock(lambda: torch.cuda.Event(enable_timing=True), torch.cuda.is_current_stream_capturing)
