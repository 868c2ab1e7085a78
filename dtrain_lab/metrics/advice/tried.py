"""Evaluates advice that was tried: compares batches with the change and without it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median, stdev

from dtrain_lab.metrics.diagnosis import ELSEWHERE, LEAST_ERROR, STUDENT, median_error
from dtrain_lab.wire.metrics.diagnosis import Change, Report, Tried
from dtrain_lab.wire.metrics.thresholds import FEW_BATCHES, LEAST_GAIN, ROUGH_GAIN, TIMES_GAIN
from dtrain_lab.wire.metrics.verdicts import Advice

WAYS = {"": "", "loop": " with the loop changed", "optimize": " with dt.optimize"}
"""How a change was applied for a trial → description for the user."""
NUMBERS = {"accumulate": "every", "bf16": "", "workers": "workers"}
"""Id of advice that can be tried → name of its numeric value; empty for none."""


def change(advice: Advice) -> Change | None:
    """The change that ranks try; None for advice that can't be tried.

    Args:
        advice: the advice.
    """
    if not is_tryable(advice):
        return None
    way = advice.values.get("way", "optimize") if advice.id == "accumulate" else ""
    return Change(advice.id, int(advice.values.get(NUMBERS[advice.id], 0)), way)


def is_tryable(advice: Advice) -> bool:
    """Whether ranks can try advice by themselves."""
    return advice.id in NUMBERS


def tried(reports: Sequence[Report], advice: Advice) -> Tried:
    """Evaluate the measurements of all ranks.

    gain = (b + e) / (a + e), with b and a the seconds of a batch without the change and with it, and e the
    time of the loop's own code, which repeated batches leave out. It is computed for each cycle from the
    means of all ranks; the result is the median of the cycles, with its `median_error`. Steps that read the
    loader are compared by their means, since workers give batches in bursts.

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
        few = STUDENT.get(max(2, min(len(before), len(after))), 2.0)
        error = few * gain * ((_error(before) / b) ** 2 + (_error(after) / a) ** 2) ** 0.5
    else:
        gains = [(b + own) / (a + own) for b, a in zip(before, after, strict=False)]
        gain = median(gains)
        error = median_error(gains) if len(gains) > 1 else gain
    error = max(LEAST_ERROR, error)
    steps = min(r.steps for r in reports)
    what = change(advice)
    way = what.way if what is not None else ""
    few_words = ", which are few" if steps < FEW_BATCHES else ""
    return Tried(
        id=advice.id,
        gain=gain,
        gain_error=error,
        predicted=advice.gain,
        predicted_error=advice.gain_error,
        steps=steps,
        text=f"{advice.change}: {outcome(gain, error)}, measured over {steps} batches{WAYS[way]}{few_words}. "
        f"Predicted: {faster(advice.gain, advice.gain_error)}.",
        way=way,
    )


def outcome(gain: float, error: float) -> str:
    """Return how much faster a change was when it was tried.

    Args:
        gain: measured throughput over that without the change.
        error: its error.
    """
    more, unsure = round(100 * (gain - 1)), percent(error)
    if gain - 1 <= error:
        surely = "no" if gain < 1 + LEAST_GAIN else "not surely"
        return f"{surely} faster ({more:+d} % ±{unsure})".replace("-", "−")
    if error >= ROUGH_GAIN * (gain - 1):
        return between(gain, error)
    return faster(gain, error)


def between(gain: float, error: float) -> str:
    """Return a gain as a range: "18 to 98 % faster".

    Args:
        gain: Throughput with the change over that without it; 1 is no gain.
        error: Error of the gain, in the same unit.
    """
    if gain >= TIMES_GAIN:
        return f"{gain - error:.1f} to {gain + error:.1f} times as fast"
    return f"{percent(gain - 1 - error)} to {percent(gain - 1 + error)} % faster"


def faster(gain: float, error: float) -> str:
    """Return a gain with its error: "48 % faster (±5)", or "4.3 times as fast (±0.6)"."""
    if gain >= TIMES_GAIN:
        return f"{gain:.1f} times as fast (±{max(0.1, error):.1f})"
    return f"{round(100 * (gain - 1))} % faster (±{percent(error)})"


def percent(share: float) -> int:
    """Return whole percent of a share, at least 1."""
    return max(1, round(100 * share))


def _by_cycle(ranks: Sequence[Sequence[float]]) -> list[float]:
    """Means over ranks, for each cycle that all have measured."""
    return [fmean(values) for values in zip(*ranks, strict=False)]


def _error(values: Sequence[float]) -> float:
    """Standard error of a mean; the value itself if only one was measured."""
    return stdev(values) / len(values) ** 0.5 if len(values) > 1 else values[0]
