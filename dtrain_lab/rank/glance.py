"""What one expression is on this rank, small enough to lay beside the other ranks'."""

from __future__ import annotations

import base64
import json
import reprlib
from typing import Any

import numpy as np
import torch

from dtrain_lab.rank.fingerprint import leaves_of, values_of

MOST_TEXT = 200
MOST_LEAVES = 5000
MOST_VALUES = 1 << 18
"""Numbers of a leaf that travel, so that how far two ranks are apart can be said."""

_short = reprlib.Repr()
_short.maxstring = _short.maxother = MOST_TEXT
_short.maxlist = _short.maxtuple = _short.maxdict = _short.maxset = 8


def glance(value: Any, leaf: str | None = None) -> str:
    """A value as JSON: type, text; a tensor's shape, dtype, device, norm, NaN count; digests of its parts.

    Args:
        value: anything.
        leaf: only the numbers of this part, as base64 of float64.
    """
    if leaf is not None:
        return json.dumps({"values": _values(value, leaf)})
    found: dict[str, Any] = {"type": type(value).__name__, "text": _text(value)}
    if isinstance(value, torch.Tensor):
        found["tensor"] = _tensor(value)
    elif isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        found["tensor"] = _tensor(torch.from_numpy(np.ascontiguousarray(value)))
    parts = leaves_of(value)
    found["leaves"] = [[p.path, p.kind, p.dtype, list(p.shape), p.digest] for p in parts[:MOST_LEAVES]]
    found["left"] = max(0, len(parts) - MOST_LEAVES)
    return json.dumps(found)


def _text(value: Any) -> str:
    if isinstance(value, torch.Tensor) and value.numel() != 1:
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, torch.Tensor):
        return f"{value.item():.6g}" if value.dtype.is_floating_point else str(value.item())
    if isinstance(value, torch.nn.Module):
        count = sum(p.numel() for p in value.parameters())
        return f"{type(value).__name__}, {count:,} parameters"
    if isinstance(value, float):
        return f"{value:.6g}"
    try:
        return _short.repr(value)[:MOST_TEXT]
    # a user's __repr__ may fail, or need a rank that stands still
    except Exception as error:  # noqa: BLE001
        return f"<{type(value).__name__}; its repr failed: {type(error).__name__}>"


def _tensor(value: torch.Tensor) -> dict[str, Any]:
    with torch.no_grad():
        numbers = value.detach()
        real = numbers.is_floating_point() or numbers.is_complex()
        return {
            "shape": list(value.shape),
            "dtype": str(value.dtype).removeprefix("torch."),
            "device": str(value.device),
            "norm": float(numbers.float().norm()) if numbers.numel() and not numbers.is_complex() else None,
            "nans": int(numbers.isnan().sum()) if real else 0,
        }


def _values(value: Any, leaf: str) -> str | None:
    found = values_of(value, leaf)
    if found.size > MOST_VALUES or found.dtype.kind == "c":
        return None
    return base64.b64encode(found.tobytes()).decode()
