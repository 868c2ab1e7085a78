"""Why there is no advice on a training loop, in one sentence. Pure."""

from __future__ import annotations

from dtrain_lab.metrics.advice import communication, data
from dtrain_lab.metrics.advice.diagnosis_certainty import STILL
from dtrain_lab.metrics.advice.measured import Measured, unknown
from dtrain_lab.metrics.diagnosis_text import (
    AGAIN,
    OWN,
    late_share,
    slow_leads,
    slow_rank,
    too_unsteady,
    waits_elsewhere,
)
from dtrain_lab.text import rank_names
from dtrain_lab.text.units import known_share
from dtrain_lab.wire.metrics.diagnosis import vague

OR_DIAGNOSE = ", or run Diagnose."
MEASURE = "Advice based on them would be a guess: run Diagnose between cells for measured times."
TOO_SHORT = (
    "The last training loop was too short to measure. Train at least 5 steps in a cell, or run Diagnose."
)


def why_none(of: Measured | None, busy: str) -> str:
    """Return why no change is advised.

    Args:
        of: metrics of the loop, for which there is no advice; None before any training.
        busy: that a machine has too few cores for its threads; empty if all have enough.

    Returns:
        A sentence or two; empty before any training.
    """
    if of is None or of.step_s is None:
        return ""
    if busy:
        return f"{busy} {STILL if of.diagnosed else MEASURE}"
    reading = (of.data_s or 0.0) / of.step_s
    transfer = (of.share or 0.0) if of.transfer_s is None else of.transfer_s / of.step_s
    if of.slow is not None and slow_leads(of.slow, of.step_s, transfer, reading):
        return slow_rank(of.slow, late_share(of.slow, of.step_s))
    if of.asleep > max(of.share or 0.0, reading):
        return waits_elsewhere(of.asleep)
    shares = {"waiting for data": (reading, of.data_error)}
    if of.share is not None:
        shares["communication"] = of.share, of.error
    if of.diagnosed and (name := too_unsteady(shares.get("communication"), shares["waiting for data"])):
        return _unsteady(name, *shares[name])
    if of.share is not None and of.share >= communication.FROM_SHARE and of.called > of.share / 2:
        return (
            f"Communication takes {known_share(of.share, of.error)} of a step, most of it collectives that "
            "your loop calls itself: call fewer, or smaller ones."
        )
    if missing := unknown(of):
        return missing[0]
    if of.share is not None and of.transfer_s is not None and of.share >= communication.FROM_SHARE:
        if communication.is_uncertain(of):
            return f"How long communication takes is too unsteady to promise a gain. {MEASURE}"
        beginning = f"Communication takes {known_share(of.share, of.error)} of a step"
        if of.transfer_s < of.share * of.step_s / 2:
            waiting = "most of it waiting for a slower rank: averaging less would not shorten that"
            return f"{beginning}, {waiting}."
        return f"{beginning}, but no known change is certain to shorten it."
    if (
        (own := of.beside - of.asleep) >= OWN
        and own > max(of.share or 0.0, reading)
        and not vague(own, of.error)
    ):
        return f"Your loop's own code takes {known_share(own, of.error)} of a step."
    waits = known_share(reading, of.data_error)
    if reading >= data.FROM_SHARE:
        return f"Waiting for data takes {waits} of a step, but the cores have no time for more workers."
    if of.share is None:
        return f"Computation takes the time: waiting for data is {waits} of a step."
    return (
        f"Computation takes the time: communication is {known_share(of.share, of.error)} of a step, "
        f"waiting for data {waits}."
    )


def resized(ranks: int, size: int) -> str:
    """Return why there is no advice on a loop that ran on another number of ranks.

    Args:
        ranks: number of ranks on which it ran.
        size: number of ranks of the world now.
    """
    on = "that rank" if size == 1 else "these ranks"
    # a rank that is new has nothing to repeat
    how = OR_DIAGNOSE if size < ranks else " for advice."
    before, now = rank_names.count(ranks), rank_names.count(size)
    return (
        f"The last training loop ran on {before}; the cluster has {now} now. Train a few steps on {on}{how}"
    )


def asks_diagnosis(why: str) -> bool:
    """Whether a reason for no advice asks for a diagnosis, or for another one."""
    return why == TOO_SHORT or why.endswith((MEASURE, STILL, AGAIN, OR_DIAGNOSE))


def _unsteady(name: str, share: float, error: float) -> str:
    """What a diagnosis has found of a share that it could not measure well enough."""
    least, most = max(0.0, share - error), min(1.0, share + error)
    return (
        "The last diagnosis was too unsteady to promise a gain: its steps differed so much that "
        f"{name} may take from {100 * least:.0f} to {100 * most:.0f} % of a step. {AGAIN}"
    )
