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

SCHEMES = ((5, 4), (5, 3), (3, 3), (3, 2), (2, 2))
"""Cycles, and steps of a kind in each, the first of which is not counted. The first that fits is taken."""
WITHIN_S = 30.0
"""What the steps of a kind may take together."""
FEWEST_STEPS = 4
"""Of what a loader gives."""

Say = Callable[[float, float, float, float, float], str]
"""A sentence of share, error, and seconds with it, without it, and of the whole step."""


class Report(Struct, frozen=True):
    """What one rank measured; seconds a step, one value for each cycle.

    `with_sync`, `without_sync`: the same batch again, with gradients averaged and not. `real`: with the
    loader. `loop_s`: what a step of the user's own loop took; None where it had too few. `skipped`: why a
    check was left out, by its name.
    """

    rank: int
    with_sync: tuple[float, ...] = ()
    without_sync: tuple[float, ...] = ()
    real: tuple[float, ...] = ()
    loop_s: float | None = None
    skipped: dict[str, str] = {}
    error: str = ""


class Check(Struct, frozen=True):
    """One check.

    `share`: of a step as the loop takes it, 0 to 1, so that the shares of two checks can be compared.
    `with_s`, `without_s`: a step with and without it. For communication both repeat one batch: the data that
    a step waits for is in neither.
    """

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


def scheme(step_s: float) -> tuple[int, int]:
    """How many cycles, and how many steps of a kind in each, so that it ends in a minute or two.

    Args:
        step_s: what a step takes, seconds.
    """
    return next((s for s in SCHEMES if s[0] * s[1] * step_s <= WITHIN_S), SCHEMES[-1])


def feeding(available: int, ahead: int, step_s: float, cycles: int) -> tuple[int, int]:
    """The same of steps that read the loader: how many cycles, and how many steps in each.

    Args:
        available: steps that it has batches for.
        ahead: steps that it has read when a cycle begins, which are not counted.
        step_s: what a step takes, seconds.
        cycles: of the other kinds.
    """
    cycles = max(1, min(cycles, available // (ahead + 2)))
    steps = min(available // cycles, ahead + 4 * (SCHEMES[0][1] - 1), int(WITHIN_S / (cycles * step_s)))
    return cycles, max(ahead + 1, steps)


def conclude(reports: Sequence[Report]) -> Diagnosis:
    """What the ranks' measurements say.

    Args:
        reports: of all ranks.

    share = (1 − T(without) / T(with)) · T(with) / T. The first factor for each cycle of each rank; a cycle's
    mean over ranks; the median over cycles, and two of its standard errors. T is a whole step: with the
    loader where that was measured, and of the user's own loop where that has more in it.
    """
    communication = data = None
    notes = dict.fromkeys(text for report in reports for text in report.skipped.values())
    size = len(reports)
    repeated, real = (_typical([getattr(r, kind) for r in reports]) for kind in ("with_sync", "real"))
    step_s = max(repeated, real)
    own = 0.0
    known = [r.loop_s for r in reports if r.loop_s is not None]
    loop_s = median(known) if known else None
    if loop_s is not None and step_s and loop_s > ELSEWHERE * step_s:
        elsewhere = loop_s - step_s
        own, step_s = elsewhere / loop_s, loop_s
        notes[
            f"A step of your own loop took {_time(loop_s)}: {_time(elsewhere)} of it is neither the "
            "model, nor averaging, nor the loader."
        ] = None
    if repeated and size > 1 and all(r.without_sync for r in reports):
        communication = _check([(r.with_sync, r.without_sync) for r in reports], step_s, _communication)
    if repeated and real:
        data = _check([(r.real, r.with_sync) for r in reports], step_s, _data)
    text = _verdict(communication, data, size, own)
    return Diagnosis(text, "replayed", communication, data, tuple(notes))


def from_live(metrics: Metrics) -> Diagnosis:
    """The same of a loop that runs, from what the monitor sees of it."""
    communication = data = None
    step = metrics.step_s
    if step and metrics.comm_overhead is not None:
        share, error = metrics.comm_overhead, metrics.comm_overhead_error or 0.0
        without = step * (1 - share)
        communication = Check(share, error, step, without, _communication(share, error, step, without, step))
    if step and metrics.data_s is not None:
        share, without = metrics.data_s / step, step - metrics.data_s
        data = Check(share, LEAST_ERROR, step, without, _data(share, LEAST_ERROR, step, without, step))
    note = "A cell runs: these are its own steps. Run it again between cells for steps without either."
    return Diagnosis(_verdict(communication, data, 2), "live", communication, data, (note,))


def _typical(measured: Sequence[Sequence[float]]) -> float:
    """Seconds a step, of all ranks; 0 where one has not measured it."""
    return median(median(steps) for steps in measured) if measured and all(measured) else 0.0


def _check(pairs: Sequence[tuple[Sequence[float], Sequence[float]]], step_s: float, text: Say) -> Check:
    cycles = min(len(side) for pair in pairs for side in pair)
    shares = [fmean(1 - without[i] / with_[i] for with_, without in pairs) for i in range(cycles)]
    share = median(shares)
    spread = MAD * median(abs(s - share) for s in shares)
    with_s = _typical([with_ for with_, _ in pairs])
    without_s = _typical([without for _, without in pairs])
    of_step = with_s / step_s
    error = max(LEAST_ERROR, 2 * spread / cycles**0.5 * of_step)
    # with both of the same length, a cycle's noise is no share
    share = min(1.0, max(0.0, share)) * of_step if with_s > without_s else 0.0
    return Check(share, error, with_s, without_s, text(share, error, with_s, without_s, step_s))


def _communication(share: float, error: float, with_s: float, without_s: float, step_s: float) -> str:
    if step_s == with_s:
        return (
            f"Communication takes {_share(share, error)} of a step: "
            f"{_time(with_s)} with it, {_time(without_s)} without."
        )
    return (
        f"Communication takes {_share(share, error)} of a step of {_time(step_s)}: "
        f"the same batch again takes {_time(with_s)} with it, {_time(without_s)} without."
    )


def _data(share: float, error: float, with_s: float, without_s: float, step_s: float) -> str:
    of = "a step" if step_s == with_s else f"a step of {_time(step_s)}"
    return (
        f"Waiting for data takes {_share(share, error)} of {of}: "
        f"{_time(with_s)} with the loader, {_time(without_s)} with the same batch again."
    )


def _verdict(communication: Check | None, data: Check | None, size: int, own: float = 0.0) -> str:
    """`own`: the share of what is neither the model, nor averaging, nor the loader."""
    if communication is None and data is None:
        return "Nothing could be measured."
    shared, fed = (c.share if c is not None else 0.0 for c in (communication, data))
    if own > max(shared, fed):
        return f"Your loop's own code takes the time: {own * 100:.0f} % of a step."
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
