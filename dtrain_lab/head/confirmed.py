"""How much of each rank's output the head has: confirmed to the rank, and completed after its death."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from dtrain_lab.core.wire.links import CellOutput, Seen, Words

CONFIRM_EVERY = 1 << 16
"""Bytes. A quarter of what a rank keeps, so that a steady writer never waits."""


class Confirmed:
    """Bytes received of each rank's streams."""

    def __init__(self) -> None:
        self._have: dict[tuple[int, str], int] = {}
        self._told: dict[tuple[int, str], int] = {}

    def received(self, output: CellOutput) -> Seen | None:
        """A text has arrived; returns what to tell its rank, now and then."""
        if not output.through:
            return None
        key = (output.rank, output.kind)
        self._have[key] = output.through
        if output.through - self._told.get(key, 0) < CONFIRM_EVERY:
            return None
        self._told[key] = output.through
        stream: Literal["stdout", "stderr"] = "stderr" if output.kind == "stderr" else "stdout"
        return Seen(stream, output.through)

    def missing(self, rank: int, left: tuple[Words, ...], fault: str) -> Iterator[tuple[str, str]]:
        """What a dead rank wrote and the head does not have: pairs of stream and text."""
        for words in left:
            count = words.through - self._have.get((rank, words.stream), 0)
            tail = words.text[-count:] if count > 0 else b""
            text = (tail + words.piped).decode("utf-8", "replace")
            if text:
                yield words.stream, text
        if fault:
            yield "stderr", fault + "\n"

    def forget(self, rank: int) -> None:
        """The rank's next process counts anew."""
        for known in (self._have, self._told):
            for key in [key for key in known if key[0] == rank]:
                del known[key]
