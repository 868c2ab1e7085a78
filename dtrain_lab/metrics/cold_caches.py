"""Model of the slowdown after a wait, when a step's data have left the processor's caches. Pure."""

from __future__ import annotations

GROWS = 0.05
"""Slowdown per unit of waiting time over computing time."""
MOST = 0.7
"""Maximum of the slowdown."""


def undisturbed_share(exposed_s: float, own_s: float, on_processor: float) -> float:
    """The share of a step's computing time that it would take without the preceding wait.

    After a step that communicates, forward, backward and optimizer all take longer than after a step that
    does not, and more so the longer it waited. Every ordinary step has this slowdown, so no probe shows it.
    Own / own without = 1 + c, c = `GROWS`·x / (1 + `GROWS`·x / `MOST`), x = exposed / own: fitted on seven
    models and three networks (`docs/metrics.md`).

    Args:
        exposed_s: time that the step waited for communication, seconds.
        own_s: the rest of the step without waiting for data, seconds.
        on_processor: share of `own_s` in which the training thread ran; a GPU's caches stay warm.

    Returns:
        A share between 0 and 1; 1 where there was no wait.
    """
    if own_s <= 0 or exposed_s <= 0:
        return 1.0
    grows = GROWS * exposed_s / own_s
    longer = grows / (1 + grows / MOST)
    return 1 - on_processor * (1 - 1 / (1 + longer))
