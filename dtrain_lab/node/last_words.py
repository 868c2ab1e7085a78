"""What a rank wrote and did not get out before it died."""

from __future__ import annotations

import asyncio
import os
import re

from dtrain_lab.core import words
from dtrain_lab.core.stacks import STACKS_SIGNAL, main_first
from dtrain_lab.core.wire.links import Words
from dtrain_lab.node.side_signal import signal_beside

MOST_PIPED = 1 << 20
STACKS_WITHIN_S = 1.0
LOOK_S = 0.02
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

    async def stacks(self, pid: int) -> str:
        """What the threads of the rank do now, also while one holds the GIL; cells by their name.

        Args:
            pid: of the rank.
        """
        self._empty()
        try:
            if not signal_beside(pid, STACKS_SIGNAL):
                return ""
        except ProcessLookupError:
            return ""
        size = 0
        for _ in range(int(STACKS_WITHIN_S / LOOK_S)):
            await asyncio.sleep(LOOK_S)
            now = os.fstat(self._fault).st_size
            if now and now == size:
                break
            size = now
        text = main_first(self.fault())
        self._empty()  # what is in there when it dies is of its death
        return text

    def _empty(self) -> None:
        os.ftruncate(self._fault, 0)
        os.lseek(self._fault, 0, os.SEEK_SET)

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
