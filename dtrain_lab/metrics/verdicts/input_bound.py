"""Verdict on a world whose ranks wait for data in each step."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from msgspec.structs import replace

from dtrain_lab.metrics.verdicts.straggler import SLOW_STEPS
from dtrain_lab.text.units import known_share
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.verdicts import Verdict

INPUT_BOUND_SHARE = 0.25
"""Share of a step from which waiting for data on the median rank makes training input-bound."""


def input_bound(
    samples: Sequence[RankSample], measured: float | None = None, error: float = 0.0
) -> Verdict | None:
    """Verdict that the ranks wait for data in every step; None if they don't.

    Args:
        samples: the latest sample of each rank.
        measured: share of a step that waits for data, as a diagnosis measured it; None if it didn't.
        error: its error; 0 if nothing was measured.
    """
    training = [s for s in samples if s.step_s and s.data_s is not None and (s.step or 0) >= SLOW_STEPS]
    if not training:
        return None
    share = median((s.data_s or 0.0) / (s.step_s or 1.0) for s in training)
    share = measured if measured is not None else share
    if share < INPUT_BOUND_SHARE:
        return None
    data = median(s.data_s or 0.0 for s in training)
    data = data if measured is None else measured * median(s.step_s or 0.0 for s in training)
    return Verdict(
        id="input_bound",
        kind="input_bound",
        code="input_bound",
        values={"share": share, "data_s": data, **({"error": error} if error else {})},
        text=f"Training waits for data: {known_share(share, error)} of a step.",
        hint=f"The loader takes {data * 1e3:.3g} ms a step: more workers (num_workers), or fewer transforms.",
        actions=("stacks",),
    )


def without_numbers(verdict: Verdict) -> Verdict:
    """Return a verdict as it reads while the parts of a step are too unsteady to tell, as all views say.

    Args:
        verdict: any verdict; only that training waits for data states such a part.
    """
    if verdict.code != "input_bound":
        return verdict
    return replace(
        verdict,
        values={},
        text="Training waits for data.",
        hint="Its loader takes a large part of a step: more workers (num_workers), or fewer transforms.",
    )
