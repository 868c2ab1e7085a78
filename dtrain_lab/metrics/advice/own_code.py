"""What was diagnosed to be the loop's own code: no change of communication or data shortens it. Pure."""

from __future__ import annotations

from dtrain_lab.metrics.advice.measured import Measured
from dtrain_lab.text.units import known_share
from dtrain_lab.wire.metrics.verdicts import Advice


def own_code(of: Measured) -> Advice | None:
    """Say that the loop's own code takes the time, if `diagnose` found that."""
    if not of.own:
        return None
    return Advice(
        id="own_code",
        change=f"Shorten your loop's own code: it takes {known_share(of.own, of.own_error)} of a step",
        gain=1.0,
        gain_error=0.0,
        cost="This is code outside of the model, the averaging of gradients and the data loader: look for "
        "logging, sleeps, files, and metrics computed at each step.",
        diff="",
        values={"share": of.own, "error": of.own_error},
    )
