"""The journal: what ranks printed and displayed, numbered, so that a reload or a dead kernel loses none."""

from __future__ import annotations

import time
from collections import deque
from itertools import islice
from typing import Any

import msgspec

from dtrain_lab.core.cluster import Output
from dtrain_lab.core.wire.links import CellOutput

MOST_BYTES = 256 << 20


class Journal:
    """Outputs in order, the oldest forgotten past a size."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._bytes = 0
        self._next = 0
        self._entries: deque[tuple[float, str, CellOutput]] = deque()

    def add(self, label: str, output: CellOutput) -> None:
        """Keep an output of the cell with this label."""
        self._entries.append((time.time(), label, output))
        self._next += 1
        self._bytes += _size(output)
        while self._bytes > self._most:
            self._bytes -= _size(self._entries.popleft()[2])

    def read(self, after: int, most: int) -> list[Output]:
        """Outputs after a sequence number, oldest first."""
        first = self._next - len(self._entries)
        skip = max(0, after + 1 - first)
        return [
            _entry(first + skip + index, *entry)
            for index, entry in enumerate(islice(self._entries, skip, skip + most))
        ]


def _size(output: CellOutput) -> int:
    return len(output.text) + len(output.data) + 200


def _entry(seq: int, at: float, label: str, output: CellOutput) -> Output:
    data: dict[str, Any] | None = msgspec.json.decode(output.data) if output.data else None
    return Output(seq, at, label, (output.rank,), output.kind, output.text or None, data)
