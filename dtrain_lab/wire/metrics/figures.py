"""Figures of training steps, declared once for samples, ranks, worlds and their history."""

from __future__ import annotations

from msgspec import Struct


class StepFigures(Struct, frozen=True, kw_only=True):
    """Rates, and the parts of a step that a rank measures by itself; None if unknown."""

    samples_per_s: float | None = None
    tokens_per_s: float | None = None
    step_s: float | None = None
    data_s: float | None = None
    compute_s: float | None = None
    optimizer_s: float | None = None


class Figures(StepFigures, frozen=True, kw_only=True):
    """Also communication, known from all ranks together: transfer, waiting, their share and its error."""

    transfer_s: float | None = None
    wait_s: float | None = None
    comm_overhead: float | None = None
    comm_overhead_error: float | None = None
