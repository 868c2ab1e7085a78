"""Output that a rank wrote and could not send before it died."""

from __future__ import annotations

import os
import re

from dtrain_lab.cells import output_buffer
from dtrain_lab.debugger.faulthandler import STACKS_SIGNAL, main_first
from dtrain_lab.node.stacks.stacks import ask
from dtrain_lab.wire.links import OutputTail

MOST_PIPED = 1 << 20
STACKS_WITHIN_S = 1.0
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


class CrashOutput:
    """Shared output buffer of one rank, and the file for its crash traceback. Owns the descriptors.

    Args:
        memory: Memory shared with the rank, see `cells.output_buffer`.
        fault: Descriptor of the file that the rank's faulthandler writes to.
        pipes: Stream → read end of the pipe that C code of the rank writes to; output left in there at the
            rank's death would otherwise be lost.
    """

    def __init__(self, memory: memoryview, fault: int, pipes: dict[str, int]) -> None:
        self._regions = {stream: output_buffer.Region(memory, stream) for stream in output_buffer.STREAMS}
        self._names = output_buffer.Names(memory)
        self._fault = fault
        self._pipes = pipes
        for pipe in pipes.values():
            os.set_blocking(pipe, False)

    def read(self) -> tuple[OutputTail, ...]:
        """The end of each stream; to be called once the rank is dead."""
        tails = []
        for stream, region in self._regions.items():
            piped = region.taking() + _drain(self._pipes[stream])
            text = region.tail()
            if text or piped:
                tails.append(OutputTail(stream, region.written, text, piped))  # type: ignore[arg-type]
        return tuple(tails)

    def written(self, stream: str) -> int:
        """Number of bytes written to a stream since the rank's start."""
        return self._regions[stream].written

    def pending(self) -> tuple[OutputTail, ...]:
        """The end of each stream of a living rank, which the head may not have received."""
        return tuple(
            OutputTail(stream, region.written, region.tail())  # type: ignore[arg-type]
            for stream, region in self._regions.items()
        )

    def fault(self) -> str:
        """Traceback of a crash inside C code; empty if there was none."""
        text = os.pread(self._fault, 1 << 16, 0).decode("utf-8", "replace")
        text = text.split("\nExtension modules:")[0].strip()
        return _name_cells(text, self._names.read()) if text else ""

    async def stacks(self, pid: int, began: float) -> str:
        """Stacks of all threads of the rank, even while one holds the GIL; cells appear by name.

        Args:
            pid: Process id of the rank.
            began: When its process started, as `processes.started` returns it.
        """
        self._empty()
        if not await ask(pid, began, self._fault, (STACKS_SIGNAL, STACKS_WITHIN_S)):
            return ""
        text = main_first(self.fault())
        self._empty()  # so that a later crash's traceback is alone in the file
        return text

    def _empty(self) -> None:
        os.ftruncate(self._fault, 0)
        os.lseek(self._fault, 0, os.SEEK_SET)

    def close(self) -> None:
        """Close the descriptors."""
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
        except BlockingIOError:  # a child of the rank still holds the write end
            break
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _name_cells(text: str, names: dict[str, tuple[str, int]]) -> str:
    """Replace the compiled file names of cells in a traceback by the cells' names and lines."""

    def name(match: re.Match[str]) -> str:
        cell = names.get(match[1])
        if cell is None:
            return match[0]
        label, shift = cell
        return f"cell {label}, line {int(match[2]) + shift}"

    return _FRAME.sub(name, text)
