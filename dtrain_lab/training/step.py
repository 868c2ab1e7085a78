"""`dt.step(samples)`: marks the end of a step, for loops whose steps the monitor can't find."""

from __future__ import annotations

from collections.abc import Callable

_sinks: list[Callable[[int], None]] = []


def step(samples: int = 0) -> None:
    """Mark the end of a training step. After the first call only marked steps count in this cell or job.

    Args:
        samples: samples of this rank in the step; 0 if unknown.
    """
    for sink in _sinks:
        sink(int(samples))


def set_listener(sink: Callable[[int], None]) -> None:
    """Set the function that is called with the samples of each marked step."""
    _sinks[:] = [sink]
