"""The journal: numbered output of all ranks, on this node's disk.

Output survives a page reload, a dead kernel and a closed laptop. Entries are stored in segments; the oldest
segment is dropped beyond a total size, or sooner where the disk is full. Output that can't be stored at all
is still forwarded, and ranks go on. Memory holds only the segments' paths and first sequence numbers.
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

from dtrain_lab.wire.cells import Output
from dtrain_lab.wire.links import CellOutput

MOST_BYTES = 256 << 20
SEGMENT_BYTES = 4 << 20
_LENGTH = struct.Struct("<I")


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One stored output.

    `label` is the cell's name, `piece` the output's number in its cell. Widget messages have a negative
    `piece`: they are stored only for a client that does not keep up.
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
        directory: Folder of the segments; node-local, mode 0700.
        most_bytes: Maximum size of all segments together.
    """

    def __init__(self, directory: Path, most_bytes: int = MOST_BYTES) -> None:
        self._directory = directory
        self._most = most_bytes
        self._segments: deque[_Segment] = deque()
        self._file: BinaryIO | None = None
        self.next = 0
        """Sequence number of the next entry."""

    def add(self, label: str, output: CellOutput, piece: int = 0) -> None:
        """Store an output.

        Args:
            label: Name of the cell.
            output: The output.
            piece: Number of the output in its cell, from 0; negative for a widget message.
        """
        packed = _encode(Entry(self.next, time.time(), label, output, piece))
        if not self._append(packed):
            while len(self._segments) > 1:
                self._segments.popleft().path.unlink(missing_ok=True)
            self._append(packed)
        self.next += 1

    def _append(self, packed: bytes) -> bool:
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
        """Read outputs, oldest first.

        Args:
            after: Sequence number to start after.
            most: Maximum number of outputs.
            cell: Only outputs of this cell, by its id or its label.
        """
        outputs: list[Output] = []
        for entry in self._entries(after):
            if entry.piece >= 0 and (cell is None or cell in (entry.label, entry.output.cell)):
                outputs.append(_output(entry))
                if len(outputs) == most:
                    break
        return outputs

    def raw(self, after: int, cell: str, most_bytes: int) -> tuple[list[Entry], int]:
        """Read the entries of one cell.

        Args:
            after: Sequence number to start after.
            cell: Id of the cell.
            most_bytes: Approximate amount of output to scan, that of other cells included.

        Returns:
            The entries, and the sequence number to continue after.
        """
        entries, size = [], 0
        for entry in self._entries(after):
            if entry.output.cell == cell:
                entries.append(entry)
            size += len(entry.output.text) + len(entry.output.data)
            if size > most_bytes:
                return entries, entry.seq
        return entries, self.next - 1

    def close(self) -> None:
        """Close the last segment; the folder is removed with the world."""
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
            self._segments.popleft().path.unlink(missing_ok=True)

    def _give_up_segment(self) -> None:
        """Drop the current segment with what its buffer held; the next `add` starts another."""
        if self._file is not None:
            with contextlib.suppress(OSError):  # `close` flushes again, which fails on a full disk
                self.close()
        if self._segments and self._segments[-1].first == self.next:
            self._segments.pop().path.unlink(missing_ok=True)

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
            try:
                data = memoryview(segment.path.read_bytes())
            except FileNotFoundError:  # deleted, as by a cleanup of /tmp
                continue
            at = 0
            while at < len(data):
                if at + _LENGTH.size > len(data):
                    break
                (length,) = _LENGTH.unpack_from(data, at)
                at += _LENGTH.size
                if at + length > len(data):  # truncated by a full disk
                    break
                entry = _decode(data[at : at + length])
                at += length
                if entry.seq > after:
                    yield entry


def _complain(error: OSError) -> None:
    """Write to the head's log; if the same full disk holds the log, the error goes unreported."""
    with contextlib.suppress(OSError):
        os.write(2, f"the journal: {error}\n".encode())


def _output(entry: Entry) -> Output:
    output = entry.output
    data: dict[str, Any] | None = msgspec.json.decode(output.data) if output.data else None
    kind: Any = output.kind
    return Output(entry.seq, entry.time, entry.label, (output.rank,), kind, output.text or None, data)
