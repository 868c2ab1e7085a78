"""What waiting costs a step beside the wait: its data have left the processor's caches meanwhile. Pure."""

from __future__ import annotations

GROWS = 0.05
"""With the time that was waited, over what the step computes …"""
MOST = 0.7
"""… and no more than this."""


def warm(exposed_s: float, own_s: float, on_processor: float) -> float:
    """What a step's own computation would take, had it not waited; a share of what it takes.

    After a step that communicates, the next forward pass, backward and optimizer all take longer than after
    one that does not, the longer it waited; no ordinary step is free of that, so no probe sees it. Own / own
    without = 1 + c, c = `GROWS`·x / (1 + `GROWS`·x / `MOST`), x = exposed / own: fitted on seven models and
    three networks (`docs/metrics.md`).

    Args:
        exposed_s: that it stood for communication.
        own_s: the rest of the step, but for its data.
        on_processor: the share of that in which its thread ran; another device's caches stay warm.
    """
    if own_s <= 0 or exposed_s <= 0:
        return 1.0
    grows = GROWS * exposed_s / own_s
    longer = grows / (1 + grows / MOST)
    return 1 - on_processor * (1 - 1 / (1 + longer))
