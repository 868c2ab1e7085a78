"""Hit counts of breakpoints: pydevd supports a hit count or a condition, not both, and resets no count."""

from __future__ import annotations

from collections import Counter

_counts: Counter[str] = Counter()


def hit(breakpoint: str) -> int:
    """Count one hit of a breakpoint whose condition is true; returns its hits since the cell began."""
    _counts[breakpoint] += 1
    return _counts[breakpoint]


def forget() -> None:
    """Reset all counts; called when a cell begins."""
    _counts.clear()
