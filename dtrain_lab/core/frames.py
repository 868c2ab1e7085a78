"""Frames of the WebSocket `live` as text: ranks one by one, or a column for each of their fields.

A thousand ranks one by one are 750 kB four times a second, most of it names of fields and figures that are
the same for all. A page that asks with `?ranks=columns` gets a quarter of it, and has as much less to read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from dtrain_lab.core.cluster import Rank
from dtrain_lab.core.site import LiveFrame


def encode(frame: LiveFrame, *, columns: bool) -> str:
    """The frame as JSON.

    Args:
        frame: what is sent.
        columns: `ranks` of each cluster as `columns_of` has them, not as a list.
    """
    if not columns:
        return msgspec.json.encode(frame).decode()
    clusters = [{**msgspec.structs.asdict(c), "ranks": columns_of(c.ranks)} for c in frame.clusters]
    return msgspec.json.encode({**msgspec.structs.asdict(frame), "clusters": clusters}).decode()


def columns_of(ranks: Sequence[Rank]) -> dict[str, Any]:
    """`{"count": n, "same": {field: value}, "each": {field: [value of each rank]}}`.

    A field that is the same for all is in `same`, any other in `each`. Fractions have six decimals
    (of seconds: microseconds): the rest of their digits would be half of what is sent.
    """
    same: dict[str, Any] = {}
    each: dict[str, list[Any]] = {}
    for field in Rank.__struct_fields__ if ranks else ():
        values = [_short(getattr(rank, field)) for rank in ranks]
        if values.count(values[0]) == len(values):
            same[field] = values[0]
        else:
            each[field] = values
    return {"count": len(ranks), "same": same, "each": each}


def _short(value: Any) -> Any:
    return round(value, 6) if type(value) is float else value
