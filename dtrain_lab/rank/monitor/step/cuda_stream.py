"""Measures with CUDA events how long the compute stream waits for communication, without synchronizing.

On a GPU a collective returns at once, and the compute stream waits instead. Two events on that stream, before
and after the wait, give its duration; they are read when the device has passed them, some steps later.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import torch

MOST = 256
"""Maximum number of pairs of events that the device has not passed yet; the oldest is dropped then."""
MS = 1_000_000


class Event(Protocol):
    """The part of `torch.cuda.Event` that is used."""

    def record(self) -> None:
        """Record the event on the current stream."""

    def query(self) -> bool:
        """Whether the device has passed the event."""

    def elapsed_time(self, end: Any) -> float:
        """Milliseconds from this event to `end`; the device has to have passed both."""


class StreamClock:
    """Times waits on the compute stream by pairs of events.

    Args:
        event: makes an event with timing.
        capturing: whether the stream is being captured into a graph, during which nothing can be timed.
    """

    def __init__(self, event: Callable[[], Event], capturing: Callable[[], bool] = lambda: False) -> None:
        self._make = event
        self._capturing = capturing
        self._free: list[Event] = []
        self._pending: deque[tuple[Event, Event, int]] = deque()
        self.broken = False
        """Whether the device has refused an event; it is not used from then on."""

    def mark(self) -> Event | None:
        """Record an event on the stream now; None if nothing can be timed."""
        if self.broken or self._capturing():
            return None
        try:
            event = self._free.pop() if self._free else self._make()
            event.record()
        except RuntimeError:  # an earlier error of the user's code, which the user's next call will report
            self.broken = True
            return None
        return event

    def waited(self, begin: Event | None, counted: int) -> None:
        """Record a wait of the stream.

        Args:
            begin: event at the start of the wait; it ends now.
            counted: part of the wait during which the CPU waited too, ns.
        """
        end = self.mark() if begin is not None else None
        if begin is None or end is None:
            return
        if len(self._pending) >= MOST:
            self._free += self._pending.popleft()[:2]
        self._pending.append((begin, end, counted))

    def read(self) -> int:
        """Sum up the waits that the device has passed since the last call.

        Returns:
            Nanoseconds that the stream waited longer than the CPU.
        """
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
    """A clock for this process's GPU; None while the process uses no GPU."""
    if not torch.cuda.is_initialized():
        return None
    return StreamClock(lambda: torch.cuda.Event(enable_timing=True), torch.cuda.is_current_stream_capturing)
