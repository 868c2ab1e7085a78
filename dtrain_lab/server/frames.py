"""Encoding of frames of the WebSocket `live`: ranks as a list of objects, or as columns of their fields.

A thousand ranks as objects are 750 kB four times a second, most of it field names and values that are equal
for all ranks. With `?ranks=columns` a page receives and parses a quarter of that, and no outdated metrics: it
shows what it receives as of now.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import msgspec

from dtrain_lab.metrics.outdated import as_of_now
from dtrain_lab.wire.cluster import Rank
from dtrain_lab.wire.site import LiveFrame

NUMBER_0 = '"seq":0,'
"""In a frame's text; `type`, which stands before it, has no such text."""


class FrameTexts:
    """Texts of the current frame without its number, one for each way in which pages receive it."""

    def __init__(self) -> None:
        self._texts: dict[Hashable, str] = {}

    def clear(self) -> None:
        """Forget the texts: something has changed."""
        self._texts.clear()

    def numbered(self, seq: int, way: Hashable, encoded: Callable[[], str]) -> str:
        """Return a frame's text with its number.

        Args:
            seq: The number.
            way: How the frame is encoded, and for whom.
            encoded: Returns the text of the frame with the number 0; called once after each change.
        """
        text = self._texts.get(way)
        if text is None:
            text = self._texts[way] = encoded()
        return text.replace(NUMBER_0, NUMBER_0.replace("0", str(seq)), 1)


def encode(frame: LiveFrame, *, columns: bool) -> str:
    """Encode a frame as JSON.

    Args:
        frame: The frame.
        columns: Encode each cluster's `ranks` with `columns_of` instead of as a list, and leave out the
            metrics of steps that its ranks don't take any more.
    """
    if not columns:
        return msgspec.json.encode(frame).decode()
    shown = map(as_of_now, frame.clusters)
    clusters = [{**msgspec.structs.asdict(c), "ranks": columns_of(c.ranks)} for c in shown]
    return msgspec.json.encode({**msgspec.structs.asdict(frame), "clusters": clusters}).decode()


def columns_of(ranks: Sequence[Rank]) -> dict[str, Any]:
    """Return `{"count": n, "same": {field: value}, "each": {field: [value of each rank]}}`.

    A field whose value is equal for all ranks is in `same`, any other in `each`. Fractions are rounded to six
    decimals (seconds: to microseconds), because further digits would be half of the data.
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
