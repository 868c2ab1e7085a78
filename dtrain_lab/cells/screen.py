"""The end of a rank's stream as a terminal shows it: lines that are still overwritten, one below another.

A nested progress bar (tqdm's `position`) is drawn with a line feed, the bar, and "cursor up", each of which
may arrive by itself. So a line feed after a bar ends it only if the cursor does not return.
The page has the same for the journal, `src/output/lines/screen.ts`; both are tested by the cases of
`tests/unit/golden/screen.json`.
"""

from __future__ import annotations

import re

# "[0-9]" and "\Z": "\d" has the digits of all scripts, and "$" is also before a line feed at the end
_TOKEN = re.compile(r"\n|\r|\x1b\[([0-9]*)A|(?:[^\n\r\x1b]|\x1b(?!\[[0-9]*A))+")
_UP = re.compile(r"\x1b\[[0-9]*A")
_CUT = re.compile(r"\x1b(?:\[[0-9]*)?\Z")
_MOST_UP = 100
"""Rows by which the cursor moves up at most: on any screen it stops at the top."""


def overwrites(text: str) -> bool:
    """Return whether a text overwrites what was printed before.

    Args:
        text: The text, in which "\\r\\n" was replaced by a line feed.
    """
    return "\r" in text or ("\x1b[" in text and _UP.search(text) is not None)


class Screen:
    """Lines that a stream may still overwrite, and its cursor."""

    def __init__(self) -> None:
        self._rows = [""]
        self._bars: set[int] = set()
        """Rows that were overwritten."""
        self._at = 0
        """The cursor's row."""
        self._drawn = False
        """Whether something was printed in that row since the cursor came to it."""
        self._returns = False
        """Whether the next text replaces the row's."""
        self._cut = ""
        self._done: list[str] = []

    @property
    def is_plain(self) -> bool:
        """Whether nothing is overwritten: what is left is the beginning of an ordinary line."""
        return not (self._bars or self._at or self._returns or self._cut)

    @property
    def is_below(self) -> bool:
        """Whether the cursor is below lines that it may return to."""
        return self._at > 0

    @property
    def bars(self) -> list[str]:
        """The lines that may still be overwritten, without empty ones."""
        return [row for row in self._rows if row.strip()]

    def feed(self, text: str) -> str:
        """Print text.

        Args:
            text: The text, which may end anywhere.

        Returns:
            Lines that are not overwritten any more, each with its line feed.
        """
        text = self._cut + text
        cut = _CUT.search(text)
        self._cut = cut[0] if cut else ""
        for token in _TOKEN.finditer(text, 0, cut.start() if cut else len(text)):
            if token[0] == "\n":
                self._line_feed()
            elif token[0] == "\r":
                if self._drawn:  # drawn again where it is: nothing returns to the lines above
                    self._end_above()
                self._returns = True
            elif token[1] is not None:
                self._up(min(_MOST_UP, int(token[1][:9] or 1)))
            else:
                self._print(token[0])
        return self._take()

    def settle(self) -> str:
        """End the lines above the cursor; returns them."""
        self._end_above()
        return self._take()

    def finish(self) -> str:
        """Return all lines that are left, the last one without line feed."""
        return "\n".join(self.bars)

    def rest(self) -> str:
        """Return the beginning of an ordinary line, if `is_plain`."""
        return self._rows[0]

    def _take(self) -> str:
        done, self._done = self._done, []
        return "".join(done)

    def _print(self, text: str) -> None:
        visible = bool(text.strip())
        if visible and not self._returns and not self._drawn:
            self._end_above()
        if self._returns:
            self._rows[self._at] = text
            self._bars.add(self._at)
            self._returns = False
        else:
            self._rows[self._at] += text
        if visible:
            self._drawn = True
        elif self._at == 0 and len(self._rows) == 1 and self._bars and not self._rows[0].strip():
            self._bars.clear()  # the bar was removed
            self._rows[0] = ""

    def _line_feed(self) -> None:
        if self._drawn:
            self._end_above()
        self._drawn = self._returns = False
        if not self._bars and self._rows[0]:
            self._done.append(self._rows[0] + "\n")
            self._rows[0] = ""
            return
        self._at += 1
        if self._at == len(self._rows):
            self._rows.append("")

    def _up(self, rows: int) -> None:
        above = rows - self._at
        if above > 0 and self._bars:  # of a bar whose first line feed was taken for the end of a line
            self._rows[:0] = [""] * above
            self._bars = {row + above for row in self._bars}
        self._at = max(0, self._at - rows)
        self._drawn = self._returns = False
        while len(self._rows) > self._at + 1 and not self._rows[-1].strip():
            self._rows.pop()
            self._bars.discard(len(self._rows))

    def _end_above(self) -> None:
        if not self._at:
            return
        for number, row in enumerate(self._rows[: self._at]):
            if row.strip() or number not in self._bars:
                self._done.append(row + "\n")
        self._rows = self._rows[self._at :]
        self._bars = {row - self._at for row in self._bars if row >= self._at}
        self._at = 0
