"""Own time of a rank: its step without communication; its parts, and what the loop's own code takes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from dtrain_lab.metrics.diagnosis_text import TELLING
from dtrain_lab.wire.metrics.diagnosis import StepTimings
from dtrain_lab.wire.metrics.world import Metrics

ELSEWHERE = 1.3
"""Ratio of a loop's step to the repeated step above which the loop's own code takes noticeable time."""


def own_s(step_s: float | None, communicated_s: float | None) -> float | None:
    """Return the own time of a step in seconds; None without steps.

    Args:
        step_s: the step, seconds.
        communicated_s: its part that is communication, seconds; None if it is not known, and not taken off.
    """
    return None if step_s is None else step_s - (communicated_s or 0.0)


def parts_within(
    room_s: float,
    before_s: float,
    compute_s: float | None,
    optimizer_s: float | None,
    own_code_s: float | None = None,
) -> dict[str, float | None]:
    """Forward and backward, and the optimizer, where measured parts leave another time than estimated ones.

    More time is backward's, as averaging in it and computing are hard to tell apart. Less time is less of all
    of these parts and of the rest: none of them is over because another one takes longer.

    Args:
        room_s: what the measured parts leave of the step, seconds.
        before_s: what the estimated ones left.
        compute_s: estimated time of forward and backward, seconds; None if unknown.
        optimizer_s: that of the optimizer; None if unknown.
        own_code_s: measured time of the loop's own code, which has the rest; None if it was not measured.
    """
    compute, optimizer = compute_s or 0.0, optimizer_s or 0.0
    known = compute + optimizer
    room = max(0.0, room_s)
    if own_code_s is not None and own_code_s < room and known > 0:
        factor = (room - own_code_s) / known
        compute, optimizer = compute * factor, optimizer * factor
    elif room >= (before := max(before_s, known)):
        compute += room - before
    else:
        compute, optimizer = compute * room / before, optimizer * room / before
    return {
        "compute_s": None if compute_s is None else compute,
        "optimizer_s": None if optimizer_s is None else optimizer,
    }


def own_code_share(metrics: Metrics, asleep: float = 0.0) -> float:
    """Return the share of a step that is none of the parts which the monitor knows, 0 to 1.

    Args:
        metrics: metrics of the loop.
        asleep: share of a step in which ranks wait for something that is not seen: it is no code's.

    Returns:
        1 − (data + forward and backward + optimizer + communication) − asleep; 0 if the parts are not known.
    """
    step, compute = metrics.step_s, metrics.compute_s
    if not step or compute is None:
        return 0.0
    known = compute + (metrics.data_s or 0.0) + (metrics.optimizer_s or 0.0)
    return max(0.0, 1 - known / step - (metrics.comm_overhead or 0.0) - asleep)


def own_code_s(timings: Sequence[StepTimings], step_s: float, loop_s: float | None) -> float:
    """Time of a loop's own code in its step, seconds: what its steps take longer than repeated ones.

    It is no more than what the loop itself has spent beside model, optimizer, loader and collectives, on any
    of the ranks, since the others wait for that one: where the rest is longer, too, other work has slowed the
    machine.

    Args:
        timings: timings of all ranks.
        step_s: time of a repeated step.
        loop_s: step time of the loop; None if it is not known.

    Returns:
        The time; 0 if it is too short to tell.
    """
    if loop_s is None or not step_s:
        return 0.0
    known = [
        (r.beside_s - (r.called_s or 0.0)) * _longer(r, loop_s) for r in timings if r.beside_s is not None
    ]
    beside = max(known) if known and len(known) == len(timings) else loop_s
    own = min(loop_s - step_s, beside)
    return own if own > (ELSEWHERE - 1) * step_s else 0.0


def called_s(timings: Sequence[StepTimings], left_s: float, loop_s: float) -> float:
    """Time of a step in collectives that the loop calls itself, which repeated steps leave out, seconds.

    Args:
        timings: timings of all ranks.
        left_s: what repeated steps and the loop's own code leave of its step, seconds.
        loop_s: step time of the loop.

    Returns:
        The mean over the ranks; 0 if it is too short to tell, or not known.
    """
    known = [r.called_s * _longer(r, loop_s) for r in timings if r.called_s is not None]
    called = min(left_s, fmean(known)) if known and len(known) == len(timings) else 0.0
    return called if called > TELLING * loop_s else 0.0


def _longer(of: StepTimings, loop_s: float) -> float:
    """Ratio of the step that all views show to the rank's own, by which its parts are longer, too."""
    return loop_s / of.loop_s if of.loop_s else 1.0
