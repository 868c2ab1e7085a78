"""The objective's values of a trial: those at rungs, and a curve of few points."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dtrain_lab.wire.sweeps import ObjectiveValue, Rung

FACTOR = 3
"""Of `FACTOR` trials that reach a rung, the best one continues; the next rung is `FACTOR` times further."""
RUNGS = 3
"""Number of rungs: at 1/27, 1/9 and 1/3 of the steps of the first trial that succeeded."""
MOST_POINTS = 24


def first_rung(steps: int) -> int:
    """Return the step of the first rung, given the last step of a trial that succeeded."""
    return max(1, int(steps / FACTOR**RUNGS))


def rung_steps(first: int) -> tuple[int, ...]:
    """Return the steps of all rungs."""
    return tuple(first * FACTOR**number for number in range(RUNGS))


def at_rungs(
    reports: Sequence[ObjectiveValue], first: int | None, before: Sequence[Rung] = ()
) -> tuple[Rung, ...]:
    """Return one report for each rung that was reached: the first at that step or later.

    Args:
        reports: All reports of the trial's job, in order of time.
        first: Step of the first rung; None if it is unknown yet.
        before: Reports at rungs that the trial had reached already, which are kept.
    """
    if first is None:
        return ()
    rungs = list(before)
    for step in rung_steps(first)[len(rungs) :]:
        there = next((report for report in reports if report.step >= step), None)
        if there is None:
            break
        rungs.append(Rung(there.step, there.value if math.isfinite(there.value) else None))
    return tuple(rungs)


def curve(
    reports: Sequence[ObjectiveValue], before: Sequence[ObjectiveValue] = ()
) -> tuple[ObjectiveValue, ...]:
    """Return a few finite reports that show the course, the last one among them.

    Args:
        reports: All reports of the trial's job, in order of time.
        before: The curve of the jobs that this one continues.
    """
    new = [report for report in reports if math.isfinite(report.value)]
    if not new:
        return tuple(before)
    points = [*(report for report in before if report.step < new[0].step), *new]
    if len(points) <= MOST_POINTS:
        return tuple(points)
    gap = (len(points) - 1) / (MOST_POINTS - 1)
    return tuple(points[round(number * gap)] for number in range(MOST_POINTS))
