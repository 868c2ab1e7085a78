"""Tracks how much of each rank's output the head has received: acknowledged, and completed after a death."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec.structs import replace

from dtrain_lab.wire.links import CellOutput, OutputConfirmed, OutputStalled, OutputTail, PendingOutput

CONFIRM_EVERY = 1 << 16
"""Bytes: a quarter of what a rank buffers, so that a steady writer never waits for an acknowledgement."""


class OutputOffsets:
    """Number of bytes received of each rank's streams."""

    def __init__(self) -> None:
        self._received: dict[tuple[int, str], int] = {}
        self._confirmed: dict[tuple[int, str], int] = {}
        self._early: dict[tuple[int, str], int] = {}
        """Bytes that the agent delivered while the rank was blocked; the rank will send them again."""

    def received(self, output: CellOutput) -> OutputConfirmed | None:
        """Count a received text.

        Returns:
            The acknowledgement for the rank, every `CONFIRM_EVERY` bytes; else None.
        """
        if not output.through:
            return None
        key = (output.rank, output.kind)
        self._received[key] = max(output.through, self._received.get(key, 0))
        if output.through - self._confirmed.get(key, 0) < CONFIRM_EVERY:
            return None
        self._confirmed[key] = output.through
        stream: Literal["stdout", "stderr"] = "stderr" if output.kind == "stderr" else "stdout"
        return OutputConfirmed(stream, output.through)

    def missing(self, rank: int, left: tuple[OutputTail, ...], fault: str) -> Iterator[tuple[str, str]]:
        """Output of a dead rank that the head has not received.

        Args:
            rank: Number of the rank.
            left: The end of each of its streams, as its agent read it.
            fault: Traceback of a crash in C code; empty if there was none.

        Yields:
            Stream and text.
        """
        for part in left:
            count = part.through - self._received.get((rank, part.stream), 0)
            tail = part.text[-count:] if count > 0 else b""
            text = (tail + part.piped).decode("utf-8", "replace")
            if text:
                yield part.stream, text
        if fault:
            yield "stderr", fault + "\n"

    def lacks(self, stalled: OutputStalled) -> bool:
        """Whether a silent rank has printed output that the head has not received."""
        return any(
            count > self._received.get((stalled.rank, stream), 0)
            for stream, count in (("stdout", stalled.stdout), ("stderr", stalled.stderr))
        )

    def pending(self, output: PendingOutput) -> list[tuple[str, str]]:
        """Output of a blocked rank that the head has not received: pairs of stream and text."""
        texts: list[tuple[str, str]] = []
        for part in output.words:
            key = (output.rank, part.stream)
            count = part.through - self._received.get(key, 0)
            tail = part.text[-count:] if count > 0 else b""
            # the last character may be incomplete: its bytes come with the rank's own output
            whole = tail[: len(tail) - _half(tail)]
            if whole:
                self._received[key] = self._early[key] = part.through - (len(tail) - len(whole))
                texts.append((part.stream, whole.decode("utf-8", "replace")))
        return texts

    def not_shown(self, output: CellOutput) -> CellOutput | None:
        """Drop the part of a text that the agent already delivered; None if nothing is left."""
        key = (output.rank, output.kind)
        early = self._early.get(key)
        if early is None or not output.through:
            return output
        data = output.text.encode("utf-8", "replace")
        if output.through >= early:
            del self._early[key]
        left = data[max(0, len(data) - max(0, output.through - early)) :]
        if len(left) == len(data):
            return output
        return replace(output, text=left.decode("utf-8", "replace")) if left else None

    def forget(self, rank: int) -> None:
        """Reset a rank's counts: its next process counts from 0."""
        for counts in (self._received, self._confirmed, self._early):
            for key in [key for key in counts if key[0] == rank]:
                del counts[key]


def _half(data: bytes) -> int:
    """Number of trailing bytes that are an incomplete UTF-8 character."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte & 0xC0 == 0x80:  # a continuation byte
            continue
        wanted = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return back if back < wanted else 0
    return 0
