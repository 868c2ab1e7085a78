"""Lists as a sentence has them. Pure."""

from __future__ import annotations

from collections.abc import Iterable


def listed(parts: Iterable[str]) -> str:
    """Join parts as a sentence does: `a`, `a and b`, `a, b and c`."""
    *first, last = [*parts] or [""]
    return f"{', '.join(first)} and {last}" if first else last
