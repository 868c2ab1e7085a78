"""Notes of dtrain-lab in a cell's output, beside what the cell itself prints."""

from __future__ import annotations

import sys


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
