"""Evaluates advice that was tried: compares batches with the change and without it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median, stdev

from dtrain_lab.metrics.diagnosis import ELSEWHERE, LEAST_ERROR, MAD
from dtrain_lab.wire.metrics.diagnosis import Change, Report, Tried
from dtrain_lab.wire.metrics.verdicts import Advice

FEW = 12
"""Batches from which on their number alone is no reason for doubt."""
STUDENT = {1: 12.7, 2: 12.7, 3: 4.3, 4: 3.2, 5: 2.8, 6: 2.6}
"""Number of cycles → how many standard errors are a 95 % error, as so few scatter little by chance."""
NUMBERS = {"accumulate": "every", "bf16": "", "workers": "workers"}
"""Id of advice that can be tried → its value that names how many; empty for none."""


def change(advice: Advice) -> Change | None:
    """The change that ranks try; None for advice that can't be tried.

    Args:
        advice: the advice.
    """
    if not is_tryable(advice):
        return None
    return Change(advice.id, int(advice.values.get(NUMBERS[advice.id], 0)))


def is_tryable(advice: Advice) -> bool:
    """Whether ranks can try advice by themselves."""
    return advice.id in NUMBERS


def tried(reports: Sequence[Report], advice: Advice) -> Tried:
    """Evaluate the measurements of all ranks.

    gain = (b + e) / (a + e), with b and a the seconds of a batch without the change and with it, and e the
    time of the loop's own code, which repeated batches leave out. It is computed for each cycle from the
    means of all ranks; the result is the median of the cycles, its error two standard errors, of few cycles
    more (`STUDENT`). Steps that read the loader are compared by their means, since workers give batches in
    bursts.

    Args:
        reports: reports of all ranks, with `changed`.
        advice: the advice.
    """
    before, after = (_by_cycle([getattr(r, kind) for r in reports]) for kind in ("with_sync", "changed"))
    usual = fmean(before) if advice.id == "workers" else median(before)
    loops = [r.loop_s for r in reports if r.loop_s is not None]
    loop = median(loops) if loops else 0.0
    own = loop - usual if loop > ELSEWHERE * usual else 0.0
    if advice.id == "workers":
        b, a = fmean(before) + own, fmean(after) + own
        gain = b / a
        few = STUDENT.get(min(len(before), len(after)), 2.0)
        error = few * gain * ((_error(before) / b) ** 2 + (_error(after) / a) ** 2) ** 0.5
    else:
        gains = [(b + own) / (a + own) for b, a in zip(before, after, strict=False)]
        gain = median(gains)
        error = STUDENT.get(len(gains), 2.0) * MAD * median(abs(g - gain) for g in gains) / len(gains) ** 0.5
    error = max(LEAST_ERROR, error)
    steps = min(r.steps for r in reports)
    few_words = ", which are few" if steps < FEW else ""
    return Tried(
        id=advice.id,
        gain=gain,
        gain_error=error,
        predicted=advice.gain,
        predicted_error=advice.gain_error,
        steps=steps,
        text=f"Measured over {steps} batches{few_words}: {gain:.2f} times as fast ± {error:.2f} "
        f"(predicted {advice.gain:.2f} ± {advice.gain_error:.2f}).",
    )


def _by_cycle(ranks: Sequence[Sequence[float]]) -> list[float]:
    """Means over ranks, for each cycle that all have measured."""
    return [fmean(values) for values in zip(*ranks, strict=False)]


def _error(values: Sequence[float]) -> float:
    """Standard error of a mean; the value itself where only one was measured, as nothing is known of it."""
    return stdev(values) / len(values) ** 0.5 if len(values) > 1 else values[0]
