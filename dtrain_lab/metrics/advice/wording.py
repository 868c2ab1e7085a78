"""Advice in words: its headline with the gain, and what is known of that. Pure.

The page translates the same sentences (`src/advice`). Both are compared with
`tests/unit/golden/advice_wording.json`.
"""

from __future__ import annotations

from dtrain_lab.text.units import counted
from dtrain_lab.wire.metrics.diagnosis import Tried
from dtrain_lab.wire.metrics.thresholds import FEW_BATCHES, LEAST_GAIN, ROUGH_GAIN, TIMES_GAIN, WIDE_GAIN

UNSTEADY = "Steps are too unsteady now to tell by how much."
WAYS = {"": "", "loop": " with the loop changed", "optimize": " with dt.optimize"}
"""How a change was applied for a trial → description for the user."""


def headline(change: str, gain: float, error: float, tried: Tried | None = None) -> str:
    """Return a change with what it gains: "Accumulate 4 batches: about 43 % faster".

    Args:
        change: The change.
        gain: Predicted throughput over today's.
        error: Its error.
        tried: What it gained when it was tried, which replaces the prediction.
    """
    gained = faster(gain, error) if tried is None else faster_when_tried(tried)
    return f"{change}: {gained}" if gained else change


def note(gain: float, error: float, tried: Tried | None = None) -> str:
    """Return a sentence on how the gain is known; empty if the headline says all.

    Args:
        gain, error, tried: As of `headline`.
    """
    if tried is None:
        return UNSTEADY if is_vague(gain, error) else ""
    only = "only " if tried.steps < FEW_BATCHES else ""
    factor = _factor(tried.gain, tried.gain_error)
    batches = f"{only}{counted(tried.steps, 'batch', 'batches')}{WAYS[tried.way]}"
    measured = f"Measured over {batches}{f': {factor}' if factor else ''}."
    predicted = faster(tried.predicted, tried.predicted_error)
    return f"{measured} Predicted: {predicted}." if predicted else measured


def sentences(change: str, gain: float, error: float, tried: Tried | None = None) -> str:
    """Return the headline and the note as sentences; arguments as of `headline`."""
    parts = f"{headline(change, gain, error, tried)}.", note(gain, error, tried)
    return " ".join(filter(None, parts))


def faster(gain: float, error: float) -> str:
    """Return how much faster a change is predicted to be, as precisely as it is known; empty for no gain.

    Args:
        gain: Throughput over today's.
        error: Its error.
    """
    if gain <= 1:
        return ""
    if error >= gain - 1:
        return "may be faster"
    if is_vague(gain, error):
        return "probably faster"
    if error >= ROUGH_GAIN * (gain - 1):
        return _range(gain, error)
    return f"about {gain:.1f} times as fast" if gain >= TIMES_GAIN else f"about {_percent(gain - 1)} % faster"


def faster_when_tried(tried: Tried) -> str:
    """Return how much faster a change was when it was tried, as precisely as it was measured."""
    gained = _when_tried(tried.gain, tried.gain_error)
    return f"{gained} with {counted(tried.other_ranks, 'rank')}" if tried.other_ranks is not None else gained


def is_vague(gain: float, error: float) -> bool:
    """Whether a gain is so uncertain that words tell more than its range.

    Args:
        gain: Throughput with the change over that without it; 1 is no gain.
        error: Its error, in the same unit.
    """
    return gain > 1 and error >= WIDE_GAIN * (gain - 1)


def _when_tried(gain: float, error: float) -> str:
    if gain - 1 <= error:
        return f"{'no' if gain < 1 + LEAST_GAIN else 'not clearly'} faster when tried"
    if is_vague(gain, error):
        return "faster when tried"
    if error >= ROUGH_GAIN * (gain - 1):
        return f"{_range(gain, error)} when tried"
    if gain >= TIMES_GAIN:
        return f"{gain:.1f} ± {max(0.1, error):.1f} times as fast when tried"
    return f"{_percent(gain - 1)} % ± {max(1, _percent(error))} faster when tried"


def _factor(gain: float, error: float) -> str:
    """The measured gain with its error; empty where `_when_tried` has it."""
    if gain - 1 > error and not is_vague(gain, error):
        return ""
    return f"{gain:.2f} ± {max(0.01, error):.2f} times as fast"


def _range(gain: float, error: float) -> str:
    if gain >= TIMES_GAIN:
        return f"{gain - error:.1f} to {gain + error:.1f} times as fast"
    return f"{max(1, _percent(gain - 1 - error))} to {_percent(gain - 1 + error)} % faster"


def _percent(share: float) -> int:
    return round(100 * share)
