"""The two checks of the classic guides: a step without communication, and a step without its data. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean, median

from msgspec import Struct

from dtrain_lab.core.cluster import Metrics

LEAST_ERROR = 0.01
MAD = 1.4826
MARK = "dtrain-diagnosis:"
"""Stands before a rank's report in what it prints."""
ELSEWHERE = 1.3
"""A loop whose steps take so many times what they take without its own code has something else in it."""
TELLING = 0.10
"""Below this share neither is worth a change."""


Say = Callable[[float, float, float, float], str]
"""A sentence of share, error, and seconds with and without."""


class Report(Struct, frozen=True):
    """What one rank measured; seconds a step, one value for each cycle.

    `with_sync`, `without_sync`: the same batch again, with gradients averaged and not. `real`: with the
    loader. `skipped`: why a check was left out, by its name.
    """

    rank: int
    with_sync: tuple[float, ...] = ()
    without_sync: tuple[float, ...] = ()
    real: tuple[float, ...] = ()
    skipped: dict[str, str] = {}
    error: str = ""


class Check(Struct, frozen=True):
    """One check. `share`: of a step, 0 to 1. `with_s`, `without_s`: a step with and without it."""

    share: float
    error: float
    with_s: float
    without_s: float
    text: str


class Diagnosis(Struct, frozen=True):
    """Both checks, and what follows. `source`: "replayed" steps, or "live", of a loop that runs."""

    text: str
    source: str
    communication: Check | None
    data: Check | None
    notes: tuple[str, ...] = ()


def conclude(reports: Sequence[Report], loop_s: float | None = None) -> Diagnosis:
    """What the ranks' measurements say.

    Args:
        reports: of all ranks.
        loop_s: a step of the user's own loop, as the monitor saw it last.

    share = 1 − T(without) / T(with), for each cycle of each rank; a cycle's mean over ranks; the median over
    cycles, and two of its standard errors.
    """
    communication = data = None
    notes = dict.fromkeys(text for report in reports for text in report.skipped.values())
    size = len(reports)
    if size > 1 and all(r.with_sync and r.without_sync for r in reports):
        communication = _check([(r.with_sync, r.without_sync) for r in reports], _communication)
    if all(r.real and r.with_sync for r in reports):
        data = _check([(r.real, r.with_sync) for r in reports], _data)
    replayed = max((c.with_s for c in (communication, data) if c is not None), default=None)
    if loop_s is not None and replayed is not None and loop_s > ELSEWHERE * replayed:
        notes[
            f"A step of your own loop took {_time(loop_s)}: {_time(loop_s - replayed)} of it is neither the "
            "model, nor averaging, nor the loader."
        ] = None
    return Diagnosis(_verdict(communication, data, size), "replayed", communication, data, tuple(notes))


def from_live(metrics: Metrics) -> Diagnosis:
    """The same of a loop that runs, from what the monitor sees of it."""
    communication = data = None
    step = metrics.step_s
    if step and metrics.comm_overhead is not None:
        share, error = metrics.comm_overhead, metrics.comm_overhead_error or 0.0
        without = step * (1 - share)
        communication = Check(share, error, step, without, _communication(share, error, step, without))
    if step and metrics.data_s is not None:
        share, without = metrics.data_s / step, step - metrics.data_s
        data = Check(share, LEAST_ERROR, step, without, _data(share, LEAST_ERROR, step, without))
    note = "A cell runs: these are its own steps. Run it again between cells for steps without either."
    return Diagnosis(_verdict(communication, data, 2), "live", communication, data, (note,))


def _check(pairs: Sequence[tuple[Sequence[float], Sequence[float]]], text: Say) -> Check:
    cycles = min(len(side) for pair in pairs for side in pair)
    shares = [fmean(1 - without[i] / with_[i] for with_, without in pairs) for i in range(cycles)]
    share = median(shares)
    spread = MAD * median(abs(s - share) for s in shares)
    error = max(LEAST_ERROR, 2 * spread / cycles**0.5)
    with_s = median(median(with_) for with_, _ in pairs)
    without_s = median(median(without) for _, without in pairs)
    # with both of the same length, a cycle's noise is no share
    share = min(1.0, max(0.0, share)) if with_s > without_s else 0.0
    return Check(share, error, with_s, without_s, text(share, error, with_s, without_s))


def _communication(share: float, error: float, with_s: float, without_s: float) -> str:
    return (
        f"Communication takes {_share(share, error)} of a step: "
        f"{_time(with_s)} with it, {_time(without_s)} without."
    )


def _data(share: float, error: float, with_s: float, without_s: float) -> str:
    return (
        f"Waiting for data takes {_share(share, error)} of a step: "
        f"{_time(with_s)} with the loader, {_time(without_s)} with the same batch again."
    )


def _verdict(communication: Check | None, data: Check | None, size: int) -> str:
    if communication is None and data is None:
        return "Nothing could be measured."
    shared, fed = (c.share if c is not None else 0.0 for c in (communication, data))
    if max(shared, fed) < TELLING:
        what = "neither communication nor data is" if size > 1 else "data is not"
        return f"Computation takes the time: {what} worth a change."
    if fed > shared:
        return f"Input-bound: {fed * 100:.0f} % of a step waits for data."
    return f"Communication-bound: {shared * 100:.0f} % of a step."


def _share(share: float, error: float) -> str:
    return f"{share * 100:.0f} % ± {max(1, round(error * 100))}"


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
