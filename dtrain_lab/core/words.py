"""Last words: what a rank printed and its head may not have yet, in memory that outlives the rank.

One region for each of stdout and stderr, shared by the rank (writer) and its node agent (reader, after the
rank's death). A region keeps what the head has not confirmed; a writer waits while it is full, so nothing
is ever overwritten. Counts are bytes of UTF-8 since the rank's start. Pure: works on a memoryview.
"""

from __future__ import annotations

from typing import Final

SIZE: Final = 1 << 18
PIECE: Final = 1 << 16
"""Bytes that are read from the pipe of C code at once, by way of this memory."""
STREAMS: Final = ("stdout", "stderr")
NAMES_SIZE: Final = 1 << 15
HEADER: Final = 64
_REGION: Final = HEADER + SIZE + PIECE
BYTES: Final = len(STREAMS) * _REGION + HEADER + NAMES_SIZE

WRITTEN, SEEN, TAKING = range(3)
"""Integers of a region's header. `TAKING`: bytes that are on their way from the pipe of C code, below the
number of that taking. `WRITTEN`: the count, below the number of the last taking that it contains: one store
says that both have happened."""
_COUNT: Final = (1 << 48) - 1


class Region:
    """One stream's memory.

    Args:
        memory: the whole, `BYTES` long.
        stream: "stdout" or "stderr".
    """

    def __init__(self, memory: memoryview, stream: str) -> None:
        start = STREAMS.index(stream) * _REGION
        self._header = memory[start : start + HEADER].cast("Q")
        self._data = memory[start + HEADER : start + HEADER + SIZE]
        self._piece = memory[start + HEADER + SIZE : start + _REGION]

    @property
    def written(self) -> int:
        """Bytes written so far."""
        return self._header[WRITTEN] & _COUNT

    @property
    def space(self) -> int:
        """Bytes that can be written without losing any that the head has not seen."""
        return SIZE - (self.written - self._header[SEEN])

    def take(self, count: int) -> memoryview:
        """Memory for this many bytes of the pipe, at most `PIECE`: a rank that dies between reading and
        writing them has them here."""
        number = ((self._header[TAKING] >> 48) + 1) % (1 << 16)
        self._piece[:count] = bytes(count)
        self._header[TAKING] = number << 48 | count
        return self._piece[:count]

    def taking(self) -> bytes:
        """What was on its way when the rank died; nothing where it had not been read yet."""
        if self._header[TAKING] >> 48 == self._header[WRITTEN] >> 48:
            return b""
        return bytes(self._piece[: self._header[TAKING] & _COUNT]).rstrip(b"\0")

    def write(self, text: bytes, *, taken: bool = False) -> None:
        """Keep a text no longer than `space`; `taken`: what `take` was for is written with it."""
        at = self.written % SIZE
        first = min(len(text), SIZE - at)
        self._data[at : at + first] = text[:first]
        self._data[: len(text) - first] = text[first:]
        number = self._header[TAKING if taken else WRITTEN] >> 48
        self._header[WRITTEN] = number << 48 | (self.written + len(text))

    def seen(self, through: int) -> None:
        """The head has everything up to this count."""
        if through > self._header[SEEN]:
            self._header[SEEN] = min(through, self.written)

    def tail(self) -> bytes:
        """What may not have reached the head: the last `written - seen` bytes."""
        written = self.written
        count = min(written - self._header[SEEN], SIZE)
        first = (written - count) % SIZE
        both = bytes(self._data[first:]) + bytes(self._data[:first])
        return both[:count]


class Names:
    """Which compiled file is which cell: the last ones, for the frames of a crash.

    Args:
        memory: the whole, `BYTES` long.
    """

    def __init__(self, memory: memoryview) -> None:
        start = len(STREAMS) * _REGION
        self._header = memory[start : start + HEADER].cast("Q")
        self._data = memory[start + HEADER : start + HEADER + NAMES_SIZE]

    def add(self, file: str, label: str, shift: int) -> None:
        """A cell was compiled; `shift` is what its user adds to a compiled line number."""
        entry = f"{file}\t{label}\t{shift}\n".encode()
        at = self._header[WRITTEN]
        if at + len(entry) > NAMES_SIZE:  # start over: the oldest cells are the least likely in a stack
            at = 0
        self._data[at : at + len(entry)] = entry
        self._header[WRITTEN] = at + len(entry)

    def read(self) -> dict[str, tuple[str, int]]:
        """File → label and shift."""
        known = {}
        for line in bytes(self._data[: self._header[WRITTEN]]).decode("utf-8", "replace").splitlines():
            file, label, shift = line.split("\t")
            known[file] = (label, int(shift))
        return known
