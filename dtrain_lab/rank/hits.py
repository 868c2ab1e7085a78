"""How often breakpoints with a condition were reached: pydevd stops for a count or a condition, not both."""

from __future__ import annotations

from collections import Counter

_counts: Counter[str] = Counter()


def hit(breakpoint: str) -> int:
    """A breakpoint's condition is true once more; how often that is now."""
    _counts[breakpoint] += 1
    return _counts[breakpoint]


def forget() -> None:
    """Breakpoints are set anew: counts begin anew."""
    _counts.clear()
