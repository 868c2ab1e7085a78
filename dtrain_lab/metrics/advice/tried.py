"""Evaluates advice that was tried: compares batches with the change and without it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median, stdev

from msgspec.structs import replace

from dtrain_lab.metrics.advice import wording
from dtrain_lab.metrics.communication import LEAST_ERROR
from dtrain_lab.metrics.diagnosis import STUDENT, median_error
from dtrain_lab.metrics.own_time import own_code_s
from dtrain_lab.wire.metrics.diagnosis import Change, StepTimings, Tried
from dtrain_lab.wire.metrics.verdicts import Advice

NUMBERS = {"accumulate": "every", "bf16": "", "workers": "workers"}
"""Id of advice that can be tried → name of its numeric value; empty for none."""


def change(advice: Advice) -> Change | None:
    """The change that ranks try; None for advice that can't be tried.

    Args:
        advice: the advice.
    """
    if not is_tryable(advice):
        return None
    method = advice.values.get("way", "optimize") if advice.id == "accumulate" else ""
    return Change(advice.id, int(advice.values.get(NUMBERS[advice.id], 0)), method)


def is_tryable(advice: Advice) -> bool:
    """Whether ranks can try advice by themselves."""
    return advice.id in NUMBERS


def tried(timings: Sequence[StepTimings], advice: Advice) -> Tried:
    """Evaluate the measurements of all ranks.

    gain = (b + e) / (a + e), with b and a the seconds of a batch without the change and with it, and e the
    time of the loop's own code, which repeated batches leave out. It is computed for each cycle from the
    means of all ranks; the result is the median of the cycles, with its `median_error`. Steps that read the
    loader are compared by their means, since workers give batches in bursts.

    Args:
        timings: timings of all ranks, with `changed`.
        advice: the advice.
    """
    before, after = (_by_cycle([getattr(r, kind) for r in timings]) for kind in ("with_sync", "changed"))
    usual = fmean(before) if advice.id == "workers" else median(before)
    loops = [r.loop_s for r in timings if r.loop_s is not None]
    elsewhere = own_code_s(timings, usual, median(loops) if loops else None)
    if advice.id == "workers":
        b, a = fmean(before) + elsewhere, fmean(after) + elsewhere
        gain = b / a
        few = STUDENT.get(max(2, min(len(before), len(after))), 2.0)
        error = few * gain * ((_error(before) / b) ** 2 + (_error(after) / a) ** 2) ** 0.5
    else:
        gains = [(b + elsewhere) / (a + elsewhere) for b, a in zip(before, after, strict=False)]
        gain = median(gains)
        error = median_error(gains) if len(gains) > 1 else gain
    error = max(LEAST_ERROR, error)
    steps = min(r.steps for r in timings)
    tried_change = change(advice)
    method = tried_change.way if tried_change is not None else ""
    trial = Tried(advice.id, gain, error, advice.gain, advice.gain_error, steps, text="", way=method)
    shown = advice.gain, advice.gain_error, trial
    text = f"{wording.headline(advice.change, *shown)}. {wording.note(*shown)}"
    return replace(trial, text=text)


def _by_cycle(ranks: Sequence[Sequence[float]]) -> list[float]:
    """Means over ranks, for each cycle that all have measured."""
    return [fmean(values) for values in zip(*ranks, strict=False)]


def _error(values: Sequence[float]) -> float:
    """Standard error of a mean; the value itself if only one was measured."""
    return stdev(values) / len(values) ** 0.5 if len(values) > 1 else values[0]
