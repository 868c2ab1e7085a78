"""Advice on faster training: changes with predicted gain, cost and code, from measured metrics. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.metrics.advice import communication, data
from dtrain_lab.metrics.advice.measured import Measured, clean
from dtrain_lab.metrics.advice.own_code import own_code
from dtrain_lab.wire.metrics.thresholds import LEAST_GAIN
from dtrain_lab.wire.metrics.verdicts import Advice

REAL_GAIN = 0.10
"""Gain above which a change is shown whatever its error: omitting the best change would mislead more."""


def advise(of: Measured) -> tuple[Advice, ...]:
    """Return the changes that would make training faster, the largest gain first.

    Args:
        of: measured metrics. Unknown metrics give no advice; `measured.unknown` names them.

    Returns:
        Advice with its gain as throughput over today's (1.6 is 60 % more), without changes that gain little,
        or less than `REAL_GAIN` and than their error; last what would not help, with a gain of 1. What was
        diagnosed to be the loop's own code, and the data loader that makes a rank slow, come before all of
        them, also with a gain of 1.
    """
    of = clean(of)
    candidates = (
        communication.accumulate(of),
        communication.compress(of),
        communication.single(of),
        data.workers(of),
    )
    worth = [
        replace(a, gain_error=min(a.gain_error, a.gain))
        for a in candidates
        if a is not None and a.gain - 1 >= min(REAL_GAIN, max(LEAST_GAIN, a.gain_error))
    ]
    first, last = (own_code(of), data.slow_loader(of)), data.more_ranks(of)
    ranked = (*first, *sorted(worth, key=lambda a: -a.gain), last)
    return tuple(a for a in ranked if a is not None)
