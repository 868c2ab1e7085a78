"""Limits for all back-ends of this process, set once when the process starts."""

from __future__ import annotations

from collections.abc import Callable


class Limits:
    """`poll_floor_s`: minimum interval between two scheduler queries in seconds; called before each query."""

    poll_floor_s: Callable[[], float] = staticmethod(lambda: 30.0)


limits = Limits()
