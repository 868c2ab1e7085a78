"""Summary of an expression's value on this rank, small enough to compare across ranks."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from dtrain_lab.debugger.visible_names import Visible
from dtrain_lab.rank.data.fingerprint import ADDRESS, leaves_of, local, values_of
from dtrain_lab.rank.debugger.values import short_text
from dtrain_lab.rank.debugger.values.short_text import HOLDS_NUMBERS, MOST_TEXT
from dtrain_lab.wire.links.values import LeafNumbers, TensorFacts, ValueSummary, to_json

MOST_LEAVES = 5000
MOST_SHOWN = 8
"""Elements of a tensor shown as numbers; a larger tensor is shown by its shape."""
MOST_VALUES = 1 << 18
"""Maximum number of elements of a leaf that are sent, to measure how far two ranks differ."""


def glance(value: Any, leaf: str | None = None) -> str:
    """Summarize a value as JSON.

    Args:
        value: anything.
        leaf: path of a leaf; only its numbers are returned then, as base64 of float64.

    Returns:
        A `ValueSummary`, or `LeafNumbers`. For a `Visible`, its names.
    """
    if isinstance(value, Visible):
        return to_json(value.names())
    value = local(value)
    if leaf is not None:
        return to_json(LeafNumbers(_values(_content(value), leaf)))
    text = exact = _text(value)
    if isinstance(value, (*HOLDS_NUMBERS, torch.Tensor, np.generic)):
        exact = _text(value, full=True)
    parts = leaves_of(_content(value))
    return to_json(
        ValueSummary(
            type(value).__name__,
            text,
            tuple(parts[:MOST_LEAVES]),
            left=max(0, len(parts) - MOST_LEAVES),
            opaque=any(part.kind == "object" and not part.digest for part in parts),
            exact=exact if exact != text else "",
            tensor=_facts(value),
        )
    )


def _facts(value: Any) -> TensorFacts | None:
    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return _tensor(torch.from_numpy(np.ascontiguousarray(value)))
    return None


def _content(value: Any) -> Any:
    """Return the attributes of an object that tells only its address of itself; other values as they are."""
    kind: Any = type(value)
    plain = kind.__repr__ is object.__repr__ and not callable(getattr(value, "state_dict", None))
    held = getattr(value, "__dict__", None)
    return held if plain and held and not isinstance(value, Mapping | Sequence) else value


def _text(value: Any, *, full: bool = False) -> str:
    if isinstance(value, torch.Tensor) and 1 < value.numel() <= MOST_SHOWN:
        return str(value.detach().tolist()) if full else _numbers(value.detach().tolist())
    if isinstance(value, torch.Tensor) and value.numel() != 1:
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, torch.Tensor):
        return f"{value.item():.6g}" if value.dtype.is_floating_point and not full else str(value.item())
    if isinstance(value, torch.nn.Module):
        count = sum(p.numel() for p in value.parameters())
        return f"{type(value).__name__}, {count:,} parameters"
    if isinstance(value, float):
        return repr(float(value)) if full else f"{value:.6g}"
    try:
        text = short_text.text(value, full=full)
        # addresses differ between ranks, and have no meaning
        return (text if isinstance(value, str) else ADDRESS.sub("", text))[:MOST_TEXT]
    # a user's __repr__ may fail, or need another rank that is stopped
    except Exception as error:  # noqa: BLE001
        return f"<{type(value).__name__}; its repr failed: {type(error).__name__}>"


def _numbers(value: Any) -> str:
    """Nested lists as text, floats with six significant digits."""
    if isinstance(value, list):
        return f"[{', '.join(map(_numbers, value))}]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _tensor(value: torch.Tensor) -> TensorFacts:
    with torch.no_grad():
        numbers = value.detach()
        real = numbers.is_floating_point() or numbers.is_complex()
        return TensorFacts(
            tuple(value.shape),
            str(value.dtype).removeprefix("torch."),
            str(value.device),
            norm=float(numbers.float().norm()) if numbers.numel() and not numbers.is_complex() else None,
            nans=int(numbers.isnan().sum()) if real else 0,
        )


def _values(value: Any, leaf: str) -> str | None:
    found = values_of(value, leaf)
    if found.size > MOST_VALUES or found.dtype.kind == "c":
        return None
    return base64.b64encode(found.tobytes()).decode()
