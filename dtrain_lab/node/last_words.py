"""What a rank wrote and did not get out before it died."""

from __future__ import annotations

import os
import re

from dtrain_lab.core import words
from dtrain_lab.core.wire.links import Words

MOST_PIPED = 1 << 20
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


class LastWords:
    """One rank's memory of output, and the file for the traceback of a crash.

    Args:
        memory: shared with the rank, see `core.words`.
        fault: descriptor of the file that its faulthandler writes to.
        pipes: by stream, the reading ends of the pipes for what C code writes; what is in them when the
            rank dies would be lost to everybody else.

    It owns the descriptors from here on.
    """

    def __init__(self, memory: memoryview, fault: int, pipes: dict[str, int]) -> None:
        self._regions = {stream: words.Region(memory, stream) for stream in words.STREAMS}
        self._names = words.Names(memory)
        self._fault = fault
        self._pipes = pipes
        for pipe in pipes.values():
            os.set_blocking(pipe, False)

    def read(self) -> tuple[Words, ...]:
        """The end of each stream; to be asked once the rank is dead."""
        found = []
        for stream, region in self._regions.items():
            piped = region.taking() + _drain(self._pipes[stream])
            text = region.tail()
            if text or piped:
                found.append(Words(stream, region.written, text, piped))  # type: ignore[arg-type]
        return tuple(found)

    def fault(self) -> str:
        """The traceback of a crash inside C code; empty where there was none."""
        text = os.pread(self._fault, 1 << 16, 0).decode("utf-8", "replace")
        text = text.split("\nExtension modules:")[0].strip()
        return _name_cells(text, self._names.read()) if text else ""

    def close(self) -> None:
        """Give the descriptors back."""
        os.close(self._fault)
        for descriptor in self._pipes.values():
            os.close(descriptor)
        self._pipes.clear()


def _drain(pipe: int) -> bytes:
    parts = []
    size = 0
    while size < MOST_PIPED:
        try:
            part = os.read(pipe, 1 << 16)
        except BlockingIOError:  # a child of the rank still holds the other end
            break
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _name_cells(text: str, names: dict[str, tuple[str, int]]) -> str:
    """A crash's traceback with cells for their compiled files."""

    def name(match: re.Match[str]) -> str:
        known = names.get(match[1])
        if known is None:
            return match[0]
        label, shift = known
        return f"cell {label}, line {int(match[2]) + shift}"

    return _FRAME.sub(name, text)
