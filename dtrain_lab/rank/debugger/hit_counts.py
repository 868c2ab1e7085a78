"""Hit counts of conditional breakpoints: pydevd supports a hit count or a condition, not both."""

from __future__ import annotations

from collections import Counter

_counts: Counter[str] = Counter()


def hit(breakpoint: str) -> int:
    """Count one hit of a breakpoint whose condition is true; returns its hits so far."""
    _counts[breakpoint] += 1
    return _counts[breakpoint]


def forget() -> None:
    """Reset all counts; called when breakpoints are set again."""
    _counts.clear()
