"""Lists as parts of sentences. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal


def listed(parts: Iterable[str], last_joined_by: Literal["and", "or"] = "and") -> str:
    """Join parts for a sentence: `a`, `a and b`, `a, b and c`.

    Args:
        parts: The parts, in order.
        last_joined_by: The word before the last part.
    """
    *first, last = [*parts] or [""]
    return f"{', '.join(first)} {last_joined_by} {last}" if first else last
