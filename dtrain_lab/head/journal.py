"""The journal: what ranks printed and displayed, numbered, on this node's disk.

A reload, a dead kernel or a closed laptop loses none of it. Entries lie in segments; the oldest segment is
dropped past a size, and sooner where the disk is full: what can't be kept at all is only passed on, and
ranks go on. In memory there is only where each segment begins.
"""

from __future__ import annotations

import contextlib
import os
import struct
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from dtrain_lab.core.cluster import Output
from dtrain_lab.core.wire.links import CellOutput

MOST_BYTES = 256 << 20
SEGMENT_BYTES = 4 << 20
_LENGTH = struct.Struct("<I")


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One output as it is kept: sequence number, when, the cell's name, the output, its number in the cell.

    What widgets say has no such number (below 0). It is kept for a door that does not read, and for nobody
    else.
    """

    seq: int
    time: float
    label: str
    output: CellOutput
    piece: int = 0


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Entry).decode


@dataclass
class _Segment:
    path: Path
    first: int
    size: int = 0


class Journal:
    """Outputs in order.

    Args:
        directory: node-local and 0700; the segments lie in it.
        most_bytes: of all segments together.
    """

    def __init__(self, directory: Path, most_bytes: int = MOST_BYTES) -> None:
        self._directory = directory
        self._most = most_bytes
        self._segments: deque[_Segment] = deque()
        self._file: BinaryIO | None = None
        self.next = 0
        """Sequence number of the next entry."""

    def add(self, label: str, output: CellOutput, piece: int = 0) -> None:
        """Keep an output of the cell with this label."""
        packed = _encode(Entry(self.next, time.time(), label, output, piece))
        if not self._kept(packed):
            while len(self._segments) > 1:
                self._segments.popleft().path.unlink()
            self._kept(packed)
        self.next += 1

    def _kept(self, packed: bytes) -> bool:
        try:
            if self._file is None or self._segments[-1].size > SEGMENT_BYTES:
                self._begin_segment()
            assert self._file is not None
            self._file.write(_LENGTH.pack(len(packed)))
            self._file.write(packed)
        except OSError as error:
            _complain(error)
            self._give_up_segment()
            return False
        self._segments[-1].size += len(packed) + _LENGTH.size
        return True

    def read(self, after: int, most: int, cell: str | None = None) -> list[Output]:
        """Outputs after a sequence number, oldest first; those of one cell (its id or its label) if asked."""
        found: list[Output] = []
        for entry in self._entries(after):
            if entry.piece >= 0 and (cell is None or cell in (entry.label, entry.output.cell)):
                found.append(_output(entry))
                if len(found) == most:
                    break
        return found

    def raw(self, after: int, cell: str, most_bytes: int) -> tuple[list[Entry], int]:
        """Entries of a cell, and the sequence number to go on after; about so much is looked through."""
        found, size = [], 0
        for entry in self._entries(after):
            if entry.output.cell == cell:
                found.append(entry)
            size += len(entry.output.text) + len(entry.output.data)
            if size > most_bytes:
                return found, entry.seq
        return found, self.next - 1

    def close(self) -> None:
        """Close the last segment; the folder goes with its world."""
        if self._file is not None:
            file, self._file = self._file, None
            file.close()

    def _begin_segment(self) -> None:
        self.close()
        path = self._directory / f"journal.{self.next}"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        self._file = os.fdopen(descriptor, "wb", buffering=1 << 16)
        self._segments.append(_Segment(path, self.next))
        while len(self._segments) > 1 and sum(s.size for s in self._segments) > self._most:
            self._segments.popleft().path.unlink()

    def _give_up_segment(self) -> None:
        """What was left in its buffer is lost; another begins."""
        if self._file is not None:
            with contextlib.suppress(OSError):  # it tries once more to write what there is no room for
                self.close()
        if self._segments and self._segments[-1].first == self.next:
            self._segments.pop().path.unlink()

    def _entries(self, after: int) -> Iterator[Entry]:
        if self._file is not None:
            try:
                self._file.flush()
            except OSError as error:
                _complain(error)
                self._give_up_segment()
        segments = list(self._segments)
        if not segments:
            return
        begins = [s.first for s in segments[1:]] + [self.next]
        for segment, end in zip(segments, begins, strict=True):
            if end <= after + 1:
                continue
            data = memoryview(segment.path.read_bytes())
            at = 0
            while at < len(data):
                if at + _LENGTH.size > len(data):
                    break
                (length,) = _LENGTH.unpack_from(data, at)
                at += _LENGTH.size
                if at + length > len(data):  # the disk was full
                    break
                entry = _decode(data[at : at + length])
                at += length
                if entry.seq > after:
                    yield entry


def _complain(error: OSError) -> None:
    """To the head's log; where that is on the full disk, too, nobody can be told."""
    with contextlib.suppress(OSError):
        os.write(2, f"the journal: {error}\n".encode())


def _output(entry: Entry) -> Output:
    output = entry.output
    data: dict[str, Any] | None = msgspec.json.decode(output.data) if output.data else None
    kind: Any = output.kind
    return Output(entry.seq, entry.time, entry.label, (output.rank,), kind, output.text or None, data)
