"""How often a diagnosis repeats a step: in cycles of windows, one window of steps of each kind. Pure."""

from __future__ import annotations

from math import ceil

QUICK, QUICK_S = (9, 4), 2.0
"""The scheme for fast steps, and the time that all steps of one kind may take for it, in seconds."""
WINDOW_S = QUICK_S / QUICK[0]
"""Time of a window of fast steps, seconds. On a busy core, processes take turns every few milliseconds: a
window that is no longer than a turn has either nothing of the other work or mostly that."""
SCHEMES = ((5, 4), (5, 3), (3, 3), (3, 2), (2, 2))
"""Numbers of cycles, and of steps of each kind per cycle (the first step isn't counted). The first pair that
fits into `WITHIN_S` is used."""
WITHIN_S = 30.0
"""Longest time that all steps of one kind may take together, seconds."""
READ_AHEAD_S = 60.0
"""Time for steps whose batches a loader's workers read ahead, in all cycles together, seconds."""
FEWEST_STEPS = 4
"""Minimum number of steps that a loader must be able to feed."""


def trial_steps(step_s: float) -> int:
    """How many steps to time for `scheme`, the first one not counted: one of a fast step may be an exception.

    Args:
        step_s: time of a single step, seconds.
    """
    return 1 + max(1, min(100, ceil(WINDOW_S / 4 / max(step_s, 1e-6))))


def scheme(step_s: float) -> tuple[int, int]:
    """Choose numbers of cycles and steps, so that the measurement ends within a minute or two.

    Args:
        step_s: time of a step, seconds.

    Returns:
        Number of cycles, and number of steps of each kind per cycle.
    """
    cycles, steps = QUICK
    if cycles * steps * step_s <= QUICK_S:
        return cycles, max(steps, int(WINDOW_S / max(step_s, 1e-4)))
    return next((s for s in SCHEMES if s[0] * s[1] * step_s <= WITHIN_S), SCHEMES[-1])


def feeding(available: int, ahead: int, step_s: float, cycles: int) -> tuple[int, int]:
    """Choose numbers of cycles and steps for the steps that read the loader.

    Args:
        available: number of steps for which the loader has batches.
        ahead: number of steps that it has read ahead when a cycle begins, which are not counted.
        step_s: time of a step, seconds.
        cycles: number of cycles of the other kinds of steps.

    Returns:
        Number of cycles, and number of steps per cycle.
    """
    cycles = min(cycles, SCHEMES[0][0], available // (ahead + 2), int(READ_AHEAD_S / ((ahead + 1) * step_s)))
    cycles = max(1, cycles)
    wanted = max(4 * (SCHEMES[0][1] - 1), int(WINDOW_S / step_s))
    steps = min(available // cycles, ahead + wanted, int(WITHIN_S / (cycles * step_s)))
    return cycles, max(ahead + 1, steps)
