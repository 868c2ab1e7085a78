"""Notes of dtrain-lab to the user, printed into a cell's output."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any


class Notes:
    """Prints each note at most once per cell."""

    def __init__(self) -> None:
        self._printed: set[str] = set()

    def say(self, text: str) -> None:
        """Print a note to stderr, unless this cell has printed it already."""
        if text not in self._printed:
            self._printed.add(text)
            print(f"dtrain-lab: {text}", file=sys.stderr)

    def forget(self) -> None:
        """Allow all notes again; called when a new cell begins."""
        self._printed.clear()


def say_in_first_cell(events: Any, texts: Iterable[str]) -> None:
    """Print notes at the beginning of the first cell, because earlier output is not shown.

    Args:
        events: the shell's events (`shell.events` of IPython).
        texts: the notes.
    """
    left = list(texts)

    def say(_: object) -> None:
        notes = Notes()
        while left:
            notes.say(left.pop(0))

    if left:
        events.register("pre_run_cell", say)
