"""Summary of an expression's value on a rank without torch: as `value_summary`, by its text and its bytes."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from dtrain_lab.debugger.visible_names import Visible
from dtrain_lab.rank.debugger.values import short_text
from dtrain_lab.rank.debugger.values.short_text import HOLDS_NUMBERS, MOST_TEXT
from dtrain_lab.wire.links.values import Leaf, LeafNumbers, ValueSummary, to_json

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def glance(value: Any, leaf: str | None = None) -> str:
    """Summarize a value as JSON.

    Args:
        value: anything.
        leaf: path of a leaf, whose numbers are not known here.

    Returns:
        A `ValueSummary` with one leaf, whose digest is of the elements of an array or tensor, else of the
        whole text. For a `Visible`, its names.
    """
    if isinstance(value, Visible):
        return to_json(value.names())
    if leaf is not None:
        return to_json(LeafNumbers(None))
    kind = type(value).__name__
    try:
        text, whole = short_text.text(value), repr(value)
        exact = short_text.text(value, full=True) if isinstance(value, HOLDS_NUMBERS) else text
    # a user's __repr__ may fail, or need another rank that is stopped
    except Exception as error:  # noqa: BLE001
        text = exact = whole = f"<{kind}; its repr failed: {type(error).__name__}>"
    opaque = False
    if not isinstance(value, str):  # an address differs on all ranks, and is meaningless
        text, exact = ADDRESS.sub("", text), ADDRESS.sub("", exact)
        whole, addresses = ADDRESS.subn("", whole)
        opaque = addresses > 0
    text, exact = text[:MOST_TEXT], exact[:MOST_TEXT]
    array = _array(value)
    if array is None:
        part = Leaf("", "object", kind, (), _digest(whole.encode("utf-8", "replace")))
    else:
        part = Leaf("", "array", str(array.dtype), tuple(array.shape), _digest(array.tobytes()))
        opaque = False
    exact = "" if exact == text else exact
    return to_json(ValueSummary(kind, text, (part,), opaque=opaque, exact=exact))


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
