"""Own time of a rank: its step without communication, so without waiting for other ranks. Pure."""

from __future__ import annotations


def own_s(step_s: float | None, communicated_s: float | None) -> float | None:
    """Return the own time of a step in seconds; None without steps.

    Args:
        step_s: the step, seconds.
        communicated_s: its part that is communication, seconds; None if it is not known, and not taken off.
    """
    return None if step_s is None else step_s - (communicated_s or 0.0)
