"""Figures from which something is told in other words: one declaration for Python and for the page.

`make types` writes them to `src/api/told.ts`; a test fails if that file is stale.
"""

from __future__ import annotations

from typing import Final

ROUGH_SHARE: Final = 0.15
"""Error of a share from which it is told as a range …"""
VAGUE_SHARE: Final = 0.3
"""… and from which it tells nothing."""
ROUGH_GAIN: Final = 0.5
"""Share of a gain from which its error makes a range of it."""
LEAST_GAIN: Final = 0.03
"""Least gain that is one."""
TIMES_GAIN: Final = 2.0
"""Throughput over today's from which it is told as times, not as percent more."""
FEW_BATCHES: Final = 12
"""Batches from which on their number alone is no reason for doubt."""


def typescript() -> str:
    """Return these figures as the text of `src/api/told.ts`."""
    lines = ["// Generated from dtrain_lab/wire/metrics/told.py by `make types`: do not edit."]
    lines += [f"export const {n} = {v};" for n, v in globals().items() if n.isupper()]
    return "\n".join(lines) + "\n"
