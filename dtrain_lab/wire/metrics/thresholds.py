"""Thresholds at which a value is worded differently: declared once, for Python and for the page.

`make types` writes them to `src/api/thresholds.ts`; a test fails if that file is stale.
"""

from __future__ import annotations

from typing import Final

VAGUE_SHARE: Final = 0.3
"""Error above which a share is meaningless, and is not displayed."""
WORTH_A_CHANGE: Final = 0.2
"""Share of a step from which verdicts and advice consider communication, or waiting for data."""
ROUGH_GAIN: Final = 0.5
"""Error, as a fraction of a gain, above which the gain is written as a range."""
WIDE_GAIN: Final = 0.6
"""Error, as a fraction of a gain, above which that range says too little: the gain is described in words."""
LEAST_GAIN: Final = 0.03
"""Smallest gain in throughput that counts as a gain."""
TIMES_GAIN: Final = 2.0
"""Ratio of throughputs above which a gain is written as a factor (2.4×), not as a percentage."""
FEW_BATCHES: Final = 12
"""Number of measured batches below which a result is called uncertain."""


def typescript() -> str:
    """Return these thresholds as the text of `src/api/thresholds.ts`."""
    lines = ["// Generated from dtrain_lab/wire/metrics/thresholds.py by `make types`: do not edit."]
    lines += [f"export const {n} = {v};" for n, v in globals().items() if n.isupper()]
    return "\n".join(lines) + "\n"
