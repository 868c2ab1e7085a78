"""Prediction of training on more nodes."""

from __future__ import annotations

from msgspec import Struct


class Forecast(Struct, frozen=True):
    """Predicted metrics of the loop that trained last, on another number of nodes.

    The batch of each rank stays. `gain`: throughput of all ranks over today's, give or take `gain_error`.
    `step_s`, `transfer_s`: a step, and its averaging that computation does not hide, seconds. `text` states
    the result and what it was computed from.
    """

    nodes: int
    ranks: int
    gain: float
    gain_error: float
    step_s: float
    transfer_s: float
    text: str
