"""How certain a diagnosis is, and what may be derived from it. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.metrics import diagnosis_text as text_of
from dtrain_lab.wire.metrics.diagnosis import Diagnosis

FREE = "on a free machine, times and shares may differ."
STILL = "Advice based on them would still be a guess: train and diagnose again when the machine is less busy."
"""What follows after a sentence that times and shares are rough."""


def denies_waiting_for_data(diagnosis: Diagnosis, share: float) -> bool:
    """Whether waiting for data was measured to take less than a share of a step, its error included.

    Args:
        diagnosis: the diagnosis of the loop.
        share: share of a step, 0 to 1.
    """
    data = diagnosis.data
    return data is not None and not data.in_loop and data.share + data.error < share


def leaves_open(diagnosis: Diagnosis) -> bool:
    """Whether a part of a step is known no better than before the diagnosis: by the loop, or too unsteadily.

    Args:
        diagnosis: the diagnosis of the loop.
    """
    checks = [check for check in (diagnosis.communication, diagnosis.data) if check is not None]
    return any(check.in_loop or text_of.is_unsteady(check.share, check.error) for check in checks)


def is_rough(diagnosis: Diagnosis) -> bool:
    """Whether its shares are too uncertain for advice: too unsteady for its verdict, or not measured anew.

    Args:
        diagnosis: the diagnosis of the loop.
    """
    communication, data = diagnosis.communication, diagnosis.data
    shares = ((check.share, check.error) if check is not None else None for check in (communication, data))
    if text_of.too_unsteady(*shares) is not None:
        return True
    return data is not None and data.in_loop and data.share >= text_of.TELLING


def with_busy(diagnosis: Diagnosis, said: str, meanwhile: str = "") -> Diagnosis:
    """Add the note that a machine was too busy: while it was diagnosed, or before and the diagnosis is rough.

    Args:
        diagnosis: the diagnosis of the loop.
        said: that a machine had too few cores for its threads while the loop ran; empty if all had enough.
        meanwhile: the clause that it had too few while steps were repeated; empty if all had enough.
    """
    if is_rough(diagnosis) and said:
        note = f"{said} {STILL}"
    elif meanwhile:
        then = f"times and shares are rough. {STILL}" if is_rough(diagnosis) else FREE
        note = f"While steps were repeated, {meanwhile}: {then}"
    else:
        return diagnosis
    return replace(diagnosis, notes=(*diagnosis.notes, note))
