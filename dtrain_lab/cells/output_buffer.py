"""Shared-memory buffer for a rank's output that the head has not confirmed; it outlives the rank.

There is one region each for stdout and stderr. The rank writes; its node agent reads after the rank's
death. A writer waits while its region is full, so unconfirmed output is never overwritten. Counts are
bytes of UTF-8 since the rank's start. Pure: works on a memoryview.
"""

from __future__ import annotations

from typing import Final

SIZE: Final = 1 << 18
PIECE: Final = 1 << 16
"""Maximum bytes per read from the pipe that carries the output of C code."""
STREAMS: Final = ("stdout", "stderr")
NAMES_SIZE: Final = 1 << 15
HEADER: Final = 64
_REGION: Final = HEADER + SIZE + PIECE
BYTES: Final = len(STREAMS) * _REGION + HEADER + NAMES_SIZE

WRITTEN, SEEN, TAKING = range(3)
"""Integers of a region's header, 64 bits each.

Each read from the pipe of C code has a 16-bit number. `TAKING` holds that number in its high bits and the
byte count of the read in progress in its low 48. `WRITTEN` holds the bytes written so far in its low 48
bits and, in its high bits, the number of the last read that they include, so that a single store publishes
both.
"""
_COUNT: Final = (1 << 48) - 1


class Region:
    """The buffer of one stream.

    Args:
        memory: the whole shared memory, `BYTES` long.
        stream: "stdout" or "stderr".
    """

    def __init__(self, memory: memoryview, stream: str) -> None:
        start = STREAMS.index(stream) * _REGION
        self._header = memory[start : start + HEADER].cast("Q")
        self._data = memory[start + HEADER : start + HEADER + SIZE]
        self._piece = memory[start + HEADER + SIZE : start + _REGION]

    @property
    def written(self) -> int:
        """Bytes written since the rank's start."""
        return self._header[WRITTEN] & _COUNT

    @property
    def space(self) -> int:
        """Bytes that can be written without overwriting output that the head has not confirmed."""
        return SIZE - (self.written - self._header[SEEN])

    def take(self, count: int) -> memoryview:
        """Return memory to read pipe output into.

        If the rank dies between reading the bytes and writing them, the node agent finds them here.

        Args:
            count: bytes to read, at most `PIECE`.
        """
        number = ((self._header[TAKING] >> 48) + 1) % (1 << 16)
        self._piece[:count] = bytes(count)
        self._header[TAKING] = number << 48 | count
        return self._piece[:count]

    def taking(self) -> bytes:
        """Return the bytes that the rank had read but not written when it died; empty if none."""
        if self._header[TAKING] >> 48 == self._header[WRITTEN] >> 48:
            return b""
        return bytes(self._piece[: self._header[TAKING] & _COUNT]).rstrip(b"\0")

    def write(self, text: bytes, *, taken: bool = False) -> None:
        """Append bytes to the region.

        Args:
            text: UTF-8, no longer than `space`.
            taken: whether the text includes the bytes of the last `take`, which is then complete.
        """
        at = self.written % SIZE
        first = min(len(text), SIZE - at)
        self._data[at : at + first] = text[:first]
        self._data[: len(text) - first] = text[first:]
        number = self._header[TAKING if taken else WRITTEN] >> 48
        self._header[WRITTEN] = number << 48 | (self.written + len(text))

    def match(self, written: int) -> None:
        """Set the count of bytes to the head's count, if an interrupt has made them differ."""
        if written != self.written:
            self._header[WRITTEN] = self._header[WRITTEN] & ~_COUNT | written

    def confirm(self, through: int) -> None:
        """Record that the head has confirmed the first `through` bytes."""
        if through > self._header[SEEN]:
            self._header[SEEN] = min(through, self.written)

    def tail(self) -> bytes:
        """Return the bytes that the head has not confirmed: the last `written - seen`.

        Reads no others: the kernel allocates each page that is read, and the node agent looks once a second.
        """
        written = self.written
        count = min(written - self._header[SEEN], SIZE)
        first = (written - count) % SIZE
        end = min(first + count, SIZE)
        return bytes(self._data[first:end]) + bytes(self._data[: first + count - end])


class Names:
    """Map from compiled file to cell label, for the frames of a crash; keeps the latest cells.

    Args:
        memory: the whole shared memory, `BYTES` long.
    """

    def __init__(self, memory: memoryview) -> None:
        start = len(STREAMS) * _REGION
        self._header = memory[start : start + HEADER].cast("Q")
        self._data = memory[start + HEADER : start + HEADER + NAMES_SIZE]

    def add(self, file: str, label: str, shift: int) -> None:
        """Record a compiled cell.

        Args:
            file: name under which the cell was compiled.
            label: the cell's label.
            shift: lines to add to a compiled line number to get the user's.
        """
        entry = f"{file}\t{label}\t{shift}\n".encode()
        at = self._header[WRITTEN]
        if at + len(entry) > NAMES_SIZE:  # start over: the oldest cells are the least likely in a stack
            at = 0
        self._data[at : at + len(entry)] = entry
        self._header[WRITTEN] = at + len(entry)

    def read(self) -> dict[str, tuple[str, int]]:
        """Return file → (label, shift)."""
        labels = {}
        for line in bytes(self._data[: self._header[WRITTEN]]).decode("utf-8", "replace").splitlines():
            file, label, shift = line.split("\t")
            labels[file] = (label, int(shift))
        return labels
