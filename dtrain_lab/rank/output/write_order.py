"""The order in which a rank wrote to its streams, whose texts are buffered apart.

Without it, the line feed that ends a progress bar on stderr would come after what was printed below the bar.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any

MOST_SWITCHES = 256
"""Most changes between streams that are kept in one flush: each is a message of its own."""
Text = tuple[dict[str, Any], str]
"""Text of a stream, with its parent's header."""


class WriteOrder:
    """Notes each write, and arranges the texts of several streams by that.

    Any thread notes its writes, without a lock; one at a time arranges.
    """

    def __init__(self) -> None:
        self._written: Counter[str] = Counter()
        """Stream → characters noted since the start."""
        self._taken: Counter[str] = Counter()
        """Stream → characters arranged since the start."""
        self._ends: deque[tuple[str, int]] = deque()
        """Of each run of writes to a stream, but for the last: the stream, and its characters until then."""
        self._last = ""
        """The stream that was written to last."""

    def note(self, name: str, size: int) -> None:
        """Note a write, once its text is in the stream's buffer; one thread of a stream at a time.

        Args:
            name: The stream.
            size: Characters of the text.
        """
        last = self._last
        if last != name:
            self._last = name
            if last:
                self._ends.append((last, self._written[last]))
        self._written[name] += size

    def match(self, name: str) -> None:
        """Take as noted what was arranged, as an interrupt may have come between a write and its note.

        Called while nobody writes to the stream, and its buffer is empty.
        """
        if self._written[name] == self._taken[name]:
            return
        self._written[name] = self._taken[name]
        for _ in range(len(self._ends)):
            written = self._ends.popleft()
            if written[0] != name:
                self._ends.append(written)

    def arranged(self, texts: Mapping[str, Sequence[Text]]) -> list[tuple[str, dict[str, Any], str]]:
        """Return the texts in the order of their writes; beyond `MOST_SWITCHES`, one stream's first.

        Args:
            texts: What each stream's buffer contained.
        """
        if sum(map(bool, texts.values())) < 2:
            self._forget(texts)
            return [(name, *text) for name, own in texts.items() for text in own]
        left = {name: deque(own) for name, own in texts.items()}
        arranged: list[tuple[str, dict[str, Any], str]] = []
        for name, end in self._runs({name: _size(own) for name, own in texts.items()}):
            size = end - self._taken[name]
            self._taken[name] = end
            arranged += ((name, *text) for text in _first(left[name], size))
        for name, own in left.items():
            arranged += ((name, *text) for text in own)
            self._taken[name] += _size(own)
        return arranged

    def _forget(self, texts: Mapping[str, Sequence[Text]]) -> None:
        for name, own in texts.items():
            self._taken[name] += _size(own)
        while self._ends and self._is_over(*self._ends[0]):
            self._ends.popleft()

    def _is_over(self, name: str, end: int) -> bool:
        return end <= self._taken[name]

    def _runs(self, sizes: Mapping[str, int]) -> list[tuple[str, int]]:
        """Take the notes of these texts: runs of writes to one stream, each with its end."""
        through = {name: self._taken[name] + size for name, size in sizes.items()}
        runs: list[tuple[str, int]] = []
        later: list[tuple[str, int]] = []
        for _ in range(len(self._ends)):
            name, end = self._ends.popleft()
            if end > through.get(name, 0):  # written after the texts were taken
                later.append((name, end))
            elif end > self._taken[name]:
                if runs and runs[-1][0] == name:
                    runs[-1] = name, end
                elif len(runs) < MOST_SWITCHES:
                    runs.append((name, end))
        self._ends.extendleft(reversed(later))
        return runs


def _size(texts: Sequence[Text] | deque[Text]) -> int:
    return sum(len(text) for _, text in texts)


def _first(texts: deque[Text], size: int) -> list[Text]:
    """Take the first characters of texts."""
    found: list[Text] = []
    while size > 0 and texts:
        parent, text = texts.popleft()
        if len(text) > size:
            texts.appendleft((parent, text[size:]))
            text = text[:size]
        found.append((parent, text))
        size -= len(text)
    return found
