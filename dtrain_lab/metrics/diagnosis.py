"""Evaluates `diagnose`: compares steps with and without communication, with and without the loader. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot, sqrt
from statistics import fmean, median, stdev
from typing import NamedTuple

from dtrain_lab.metrics import diagnosis_text as text_of
from dtrain_lab.metrics.communication import LEAST_ERROR, OVERHEAD_ERROR_BY_HAND
from dtrain_lab.metrics.diagnosed_loop import alike
from dtrain_lab.metrics.own_time import ELSEWHERE, called_s, own_code_s, own_code_share
from dtrain_lab.metrics.probes import MAD
from dtrain_lab.wire.metrics.diagnosis import Check, Diagnosis, StepTimings
from dtrain_lab.wire.metrics.verdicts import Verdict
from dtrain_lab.wire.metrics.world import Metrics

STUDENT = {2: 12.7, 3: 4.3, 4: 3.2, 5: 2.8, 6: 2.6, 7: 2.4, 8: 2.4, 9: 2.3}
"""Number of cycles → number of standard errors to use as error: few values may scatter little by chance."""
FEW = {2: 1.20, 3: 1.50, 4: 1.36, 5: 1.21, 6: 1.20, 7: 1.14, 8: 1.13, 9: 1.11}
"""Number of cycles → average factor by which the median absolute deviation of so few values is too small."""
OF_MEDIAN = 1.2533
"""Standard error of a median over that of a mean."""
ONCE = 0.5
"""Error of a share that was measured in a single cycle, relative to it: its scatter is unknown."""
SAME = 2.0
"""Ratio up to which the steps that ranks and head have seen last are those of one loop."""
KINDS = ("with_sync", "without_sync", "real")
GONE = (
    "The DDP model that trained last no longer exists: it was created inside a function. "
    "Keep it in a variable of a cell, and train a step."
)
"""Why a step can't be repeated: its model was garbage-collected."""
MODEL_GONE = "model_gone"
"""Code of that reason."""
BARE = "The loop that trained last has no DDP model, so its steps can't be repeated."
"""Why a step can't be repeated: the loop exchanges gradients by itself, or not at all."""
NO_MODEL = "no_model"
"""Code of that reason, and of that no DDP model has trained at all."""


def conclude(
    timings: Sequence[StepTimings],
    slow: Verdict | None = None,
    asleep: float = 0.0,
    waits: float | None = None,
    shown_s: float | None = None,
    late: float | None = None,
) -> Diagnosis:
    """Evaluate the measurements of all ranks.

    share = (1 − T(without) / T(with)) · T(with) / T. The first factor is computed for each cycle of each
    rank, averaged over ranks, and its median taken over cycles; the error is `median_error` of that. T is a
    whole step: with the loader where that was measured, and of the user's own loop where that takes longer.
    A remaining difference between T and the loop's own steps can't be assigned to a part, so it adds to the
    error. Where steps could not be repeated with the loader, waiting for data is that of the loop itself. If
    the two shares leave less of a step than computing alone takes, the one that is less exact is what the
    other leaves beside that.

    Args:
        timings: timings of all ranks.
        slow: the monitor's verdict on a rank that the others waited for in this loop. Repeated steps leave
            out the loop's own code, so they can't show such a rank.
        asleep: share of a step of this loop in which ranks wait for something that is not seen.
        waits: share of a step of this loop in which ranks waited for data, as all views say it; None for what
            the timings say.
        shown_s: time of a step of this loop as all views say it, likewise.
        late: share of a step of this loop in which its ranks wait for the slow one, as a mean; None if that
            is unknown.

    Returns:
        Verdict, shares of communication and data with their errors, and notes.
    """
    communication = data = None
    notes = dict.fromkeys(text for mine in timings for text in mine.skipped.values())
    size = len(timings)
    repeated, alone, real = (_typical([getattr(r, k) for r in timings]) for k in KINDS)
    loop_times = [r.loop_s for r in timings if r.loop_s is not None]
    loop_s = median(loop_times) if loop_times else None
    if loop_s is not None and shown_s is not None and alike(shown_s, loop_s, SAME):
        loop_s = shown_s
    waited = [r.data_s for r in timings if r.data_s is not None]
    waited_s = fmean(waited) if waited and loop_s and not real else None
    if waited_s is not None and loop_s is not None and waits is not None:
        waited_s = waits * loop_s
    step_s = max(repeated + (waited_s or 0.0), real)
    elsewhere = own_code_s(timings, step_s, loop_s)
    called = 0.0
    if slow is None and loop_s is not None and step_s:
        called = called_s(timings, loop_s - step_s - elsewhere, loop_s)
    took_s = step_s + elsewhere + called
    busy = loop_s is not None and step_s > 0 and loop_s > ELSEWHERE * took_s
    waits_for = late if slow is not None and late is not None and loop_s is not None else 0.0
    # one step in all sentences: the loop's own, unless something else has slowed that down
    of_loop = waits_for or ((elsewhere or called) and not busy)
    whole_s = loop_s if loop_s is not None and of_loop else took_s
    own_share = elsewhere / whole_s if elsewhere else 0.0
    own_error = _own_error(timings, own_share, took_s, whole_s, loop_s) if elsewhere else 0.0
    step = Step(whole_s, took_s, loop_s)
    if repeated and size > 1 and all(r.without_sync for r in timings):
        averaged = [(r.with_sync, r.without_sync) for r in timings]
        communication = _check(averaged, step, text_of.communication)
    if repeated and real:
        loaded = [(r.real, r.with_sync) for r in timings]
        data = _check(loaded, step, text_of.data)
        computed = alone / whole_s
        # up to half of what computing takes may be noise of the three
        if communication is not None and communication.share + data.share > 1 - computed / 2:
            if data.error < communication.error:
                most = _left_by(data.share, computed)
                communication = _check(averaged, step, text_of.all_beside_data, most)
            else:
                most = _left_by(communication.share, computed)
                data = _check(loaded, step, text_of.all_beside_communication, most)
    elif loop_s is not None and waited_s is not None:
        data = _in_loop(waited_s, whole_s, loop_s)
    fed = data.share if data is not None else 0.0
    averaging = communication
    if communication is not None and (called or waits_for):
        extra = min(called / whole_s + waits_for, max(0.0, 1 - fed - communication.share))
        called, waits_for = (extra, 0.0) if called else (0.0, extra)
        communication = _beside(communication, extra, step, slow)
    text = text_of.verdict(communication, data, size, own_share, own_error, asleep)
    own = own_share if text_of.own_leads(communication, data, own_share, own_error) else 0.0
    shares = (c.share if c is not None else 0.0 for c in (averaging, data))
    if slow is not None and text_of.slow_leads(slow, whole_s, *shares):
        text = text_of.slow_rank(slow, text_of.late_share(slow, whole_s))
        own = own_share = own_error = 0.0  # waiting, not code
        busy = False
    if loop_s is not None and own_share:  # beside a slow rank, its verdict has that time
        notes[text_of.own_time(loop_s, elsewhere, own_error * whole_s)] = None
    if loop_s is not None and busy:
        notes[text_of.slowed(loop_s, took_s, loader=bool(real))] = None
    return Diagnosis(
        text,
        "replayed",
        communication,
        data,
        tuple(notes),
        own=own,
        slow_rank=slow.ranks[0] if slow is not None else None,
        own_code=own_share,
        own_error=own_error,
        called=called,
        waiting=waits_for,
    )


class Step(NamedTuple):
    """The step that shares are of, seconds: the whole one, what its repeated parts took with the loop's own
    code, and the loop's own; the last is None if it is not known."""

    whole_s: float
    took_s: float
    loop_s: float | None


RUNS = (
    "A cell is running: these are its own steps. Diagnose between cells to measure steps without "
    "communication or data."
)


def from_live(metrics: Metrics, note: str = RUNS, asleep: float = 0.0) -> Diagnosis:
    """A diagnosis of a loop from the monitor's metrics, without steps that are repeated.

    Args:
        metrics: metrics of the world.
        note: why the loop's own steps were used.
        asleep: as of `conclude`.
    """
    communication = data = None
    step = metrics.step_s
    if step and metrics.comm_overhead is not None:
        share, error = metrics.comm_overhead, metrics.comm_overhead_error or 0.0
        without = step * (1 - share)
        communication = Check(
            share, error, step, without, text_of.communication_in_loop(share, error, step, without, step)
        )
    notes = [note]
    measured = metrics.data_error is not None  # by a diagnosis, which finds no waiting for a fast loader
    if step and (metrics.data_s or measured) and metrics.data_s is not None:
        share, without = metrics.data_s / step, step - metrics.data_s
        text = text_of.data_in_loop(share, LEAST_ERROR, step, without, step)
        data = Check(share, LEAST_ERROR, step, without, text)
    elif metrics.data_s == 0:  # a step that reads a loader waits for it, however briefly
        notes.append(text_of.READS_NONE)
    if metrics.comm_bound:
        notes.append(
            "Some communication can't be seen (compiled code, or a communication hook): it takes this share "
            "of a step, or more."
        )
    own = own_code_share(metrics, asleep), metrics.comm_overhead_error or 0.0
    text = text_of.verdict(communication, data, 2, *own, asleep)
    slow = next((v for v in metrics.verdicts if v.code == "slow"), None)  # a rank that compiles has no pace
    if slow is not None and step:
        text = text_of.slow_rank(slow, text_of.late_share(slow, step))
    return Diagnosis(text, "live", communication, data, tuple(notes))


def _typical(measured: Sequence[Sequence[float]]) -> float:
    """Median seconds per step over all ranks; 0 if a rank has not measured it."""
    return median(median(steps) for steps in measured) if measured and all(measured) else 0.0


def median_error(values: Sequence[float]) -> float:
    """Error of the median of a few measurements; 0 for a single one, whose error is unknown.

    For measurements that are normally distributed it holds 87 to 97 % of the time, for 2 to 9 of them. On a
    busy machine some of them are far off, and a deviation that leaves those out, as the median does, may be
    small by chance: the error of the mean, in which they count, is the least.

    Args:
        values: the measurements.
    """
    count = len(values)
    middle = median(values)
    spread = MAD * FEW.get(count, 1.0) * median(abs(v - middle) for v in values)
    of_mean = stdev(values) if count > 1 else 0.0
    return STUDENT.get(count, 2.0) * max(OF_MEDIAN * spread, of_mean) / sqrt(count)


def _left_by(share: float, computed: float) -> float:
    """Share of a step that another part may take at most: what a part and computing alone leave."""
    left = 1 - share
    return left - min(computed, left / 2)


def _own_error(
    timings: Sequence[StepTimings], share: float, took_s: float, whole_s: float, loop_s: float | None
) -> float:
    """Error of the share of a loop's own code: that of the steps that were repeated without that code."""
    ranks = [r.real or r.with_sync for r in timings]
    cycles = [fmean(times) / whole_s for times in zip(*ranks, strict=False)]
    unsteady = 1 - took_s / loop_s if loop_s else 0.0
    error = hypot(median_error(cycles), max(0.0, unsteady))
    return min(max(LEAST_ERROR, error), max(share, 1 - share))


def _check(
    pairs: Sequence[tuple[Sequence[float], Sequence[float]]],
    step: Step,
    text: text_of.Say,
    most: float = 1.0,
) -> Check:
    cycles = min(len(side) for pair in pairs for side in pair)
    shares = [fmean(1 - without[i] / with_[i] for with_, without in pairs) for i in range(cycles)]
    share = min(1.0, max(0.0, median(shares)))
    error = median_error(shares) if cycles > 1 else ONCE * share
    with_s = _typical([with_ for with_, _ in pairs])
    without_s = _typical([without for _, without in pairs])
    of_step = with_s / step.whole_s
    beyond = max(0.0, share * of_step - most)
    error = hypot(error * of_step, beyond, _unsteady(share * of_step, step.took_s, step.loop_s))
    share = min(share, most / of_step)
    # where both take equally long, a nonzero share is only noise of the cycles
    share = share if with_s > without_s else 0.0
    without_s = with_s * (1 - share)  # consistent with the share: medians of noisy cycles need not agree
    share *= of_step
    error = min(max(LEAST_ERROR, error), max(share, 1 - share))  # no error leads below 0 and above 1
    return Check(share, error, with_s, without_s, text(share, error, with_s, without_s, step.whole_s))


def _beside(averaging: Check, extra: float, step: Step, slow: Verdict | None) -> Check:
    """Communication of a loop that also calls collectives itself, or whose ranks wait for a slow one.

    Args:
        averaging: the averaging of gradients, from repeated steps.
        extra: share of a step of those collectives, or of that waiting.
        step: the step.
        slow: the verdict on the slow rank; None for collectives.
    """
    share = averaging.share + extra
    error = min(hypot(averaging.error, OVERHEAD_ERROR_BY_HAND), max(share, 1 - share))
    parts = averaging.share * step.whole_s, extra * step.whole_s
    text = text_of.communication_of_loop(share, error, *parts, step.whole_s, slow.ranks[0] if slow else None)
    return Check(share, error, averaging.with_s, averaging.without_s, text)


def _in_loop(waited_s: float, step_s: float, loop_s: float) -> Check:
    """Waiting for data as the loop itself did: its time is known, and that of its other parts less well.

    Args:
        waited_s: time for which a step of the loop waited, seconds.
        step_s: time of a repeated step with that waiting, seconds.
        loop_s: time of the loop's own step, seconds.
    """
    whole = max(loop_s, step_s)
    share = min(1.0, waited_s / whole)
    error = hypot(LEAST_ERROR, share * (1 - loop_s / whole))
    text = text_of.data_in_loop(share, error, whole, whole - waited_s, whole)
    return Check(share, error, whole, max(0.0, whole - waited_s), text, in_loop=True)


def _unsteady(share: float, step_s: float, loop_s: float | None) -> float:
    """Error of a share if the loop's own steps took another time than the repeated ones.

    A longer time may be that of the loop's own code, which would make the share smaller. A shorter time can
    only be due to another load of the machine, which may have affected any part.
    """
    if not loop_s:
        return 0.0
    if loop_s >= step_s:
        return share * (1 - step_s / loop_s)
    return max(share, 1 - share) * (1 - loop_s / step_s)
