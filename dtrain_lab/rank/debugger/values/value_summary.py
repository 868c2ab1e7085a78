"""Summary of an expression's value on this rank, small enough to compare across ranks."""

from __future__ import annotations

import base64
import json
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from dtrain_lab.debugger.visible_names import Visible
from dtrain_lab.rank.data.fingerprint import ADDRESS, leaves_of, local, values_of

MOST_TEXT = 200
MOST_LEAVES = 5000
MOST_SHOWN = 8
"""Elements of a tensor shown as numbers; a larger tensor is shown by its shape."""
MOST_VALUES = 1 << 18
"""Maximum number of elements of a leaf that are sent, to measure how far two ranks differ."""

_short = reprlib.Repr()
_short.maxstring = _short.maxother = MOST_TEXT
_short.maxlist = _short.maxtuple = _short.maxdict = _short.maxset = 8


def glance(value: Any, leaf: str | None = None) -> str:
    """Summarize a value as JSON.

    Args:
        value: anything.
        leaf: path of a leaf; only its numbers are returned then, as base64 of float64.

    Returns:
        JSON with type and text, for a tensor also shape, dtype, device, norm and NaN count, and digests of
        the value's leaves. `opaque`: a part of it has nothing to compare but its address.
        For a `Visible`, its names.
    """
    if isinstance(value, Visible):
        return value.to_json()
    value = local(value)
    if leaf is not None:
        return json.dumps({"values": _values(_content(value), leaf)})
    found: dict[str, Any] = {"type": type(value).__name__, "text": _text(value)}
    if isinstance(value, torch.Tensor):
        found["tensor"] = _tensor(value)
    elif isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        found["tensor"] = _tensor(torch.from_numpy(np.ascontiguousarray(value)))
    parts = leaves_of(_content(value))
    found["opaque"] = any(part.kind == "object" and not part.digest for part in parts)
    found["leaves"] = [
        [p.path, p.kind, p.dtype, list(p.shape), p.digest, p.outside] for p in parts[:MOST_LEAVES]
    ]
    found["left"] = max(0, len(parts) - MOST_LEAVES)
    return json.dumps(found)


def _content(value: Any) -> Any:
    """Return the attributes of an object that tells only its address of itself; other values as they are."""
    kind: Any = type(value)
    plain = kind.__repr__ is object.__repr__ and not callable(getattr(value, "state_dict", None))
    held = getattr(value, "__dict__", None)
    return held if plain and held and not isinstance(value, Mapping | Sequence) else value


def _text(value: Any) -> str:
    if isinstance(value, torch.Tensor) and 1 < value.numel() <= MOST_SHOWN:
        return _numbers(value.detach().tolist())
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
        text = _short.repr(value)
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
