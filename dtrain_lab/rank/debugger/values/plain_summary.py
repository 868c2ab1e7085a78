"""Summary of an expression's value on a rank without torch: as `value_summary`, by its text and its bytes."""

from __future__ import annotations

import hashlib
import json
import re
import reprlib
from typing import Any

from dtrain_lab.debugger.visible_names import Visible

MOST_TEXT = 200
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_short = reprlib.Repr()
_short.maxstring = _short.maxother = MOST_TEXT
_short.maxlist = _short.maxtuple = _short.maxdict = _short.maxset = 8


def glance(value: Any, leaf: str | None = None) -> str:
    """Summarize a value as JSON.

    Args:
        value: anything.
        leaf: path of a leaf, whose numbers are not known here.

    Returns:
        JSON with type, text, and a digest: of the elements of an array or tensor, else of the whole text.
        `opaque`: it has nothing to compare but its address. For a `Visible`, its names.
    """
    if isinstance(value, Visible):
        return value.to_json()
    if leaf is not None:
        return json.dumps({"values": None})
    kind = type(value).__name__
    try:
        text, whole = _short.repr(value), repr(value)
    # a user's __repr__ may fail, or need another rank that is stopped
    except Exception as error:  # noqa: BLE001
        text = whole = f"<{kind}; its repr failed: {type(error).__name__}>"
    opaque = False
    if not isinstance(value, str):  # an address differs on all ranks, and is meaningless
        text, (whole, addresses) = ADDRESS.sub("", text), ADDRESS.subn("", whole)
        opaque = addresses > 0
    text = text[:MOST_TEXT]
    array = _array(value)
    if array is None:
        parts = [["", "object", kind, [], _digest(whole.encode("utf-8", "replace"))]]
    else:
        parts = [["", "array", str(array.dtype), list(array.shape), _digest(array.tobytes())]]
        opaque = False
    return json.dumps({"type": kind, "text": text, "leaves": parts, "left": 0, "opaque": opaque})


def _array(value: Any) -> Any:
    """Return the NumPy array that a value is, or that another framework's tensor gives; None without one."""
    for name in ("numpy", "asnumpy"):
        make = getattr(value, name, None)
        if callable(make):
            try:
                value = make()
            # a symbolic tensor has no values
            except Exception:  # noqa: BLE001
                return None
            break
    plain = hasattr(value, "tobytes") and hasattr(value, "dtype") and hasattr(value, "shape")
    return value if plain and value.dtype.kind in "biufc" else None


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()
