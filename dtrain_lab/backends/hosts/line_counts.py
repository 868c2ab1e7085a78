"""Counts the lines of a file on this machine that show a text, as `Transport.count` describes it.

A search counts them with each match that it goes to, in a log that may have grown: what was counted for the
last searches is kept for each block of a file, and only what was added is counted.
"""

from __future__ import annotations

import mmap
import os
import re
import threading
from bisect import bisect_right
from collections.abc import Callable

from dtrain_lab.backends.hosts.text_search import WINDOW, in_any_case
from dtrain_lab.cells.merge import last_state

MOST_KEPT = 16
"""Maximum number of searches whose counts are kept."""
_kept: dict[tuple[str, bytes, bytes], LineCounts] = {}
_keeping = threading.Lock()


def count(path: str, text: bytes, offset: int, before: bytes) -> tuple[int, int]:
    """Count the lines that show a text, before an offset and after it, as `Transport.count`.

    Args:
        path: The file.
        text: The text.
        offset: Where a line begins.
        before: Regular expression of a line's start, before what it shows.

    Returns:
        The numbers of those that begin before the offset, and of the others; zeros without the file.

    Raises:
        OSError: The file can't be read.
    """
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as whole:
            counts = _counts_of(path, text, before)
            status = os.fstat(file.fileno())
            return counts.count(whole, (status.st_dev, status.st_ino), offset)
    except (FileNotFoundError, ValueError):  # an empty file can't be mapped
        return 0, 0


def _counts_of(path: str, text: bytes, before: bytes) -> LineCounts:
    with _keeping:
        key = path, text, before
        counts = _kept.pop(key, None) or LineCounts(text, before)
        _kept[key] = counts  # the latest is the last
        if len(_kept) > MOST_KEPT:
            del _kept[next(iter(_kept))]
        return counts


class LineCounts:
    """Numbers of lines of a growing file that show a text.

    Args:
        text: The text.
        before: Regular expression of a line's start, before what it shows.
    """

    def __init__(self, text: bytes, before: bytes) -> None:
        self._start = re.compile(before)
        self._text = text.lower() if text.isascii() else None
        self._expression = re.compile(in_any_case(text))
        self._counting = threading.Lock()  # who asks again meanwhile waits instead of counting, too
        self._forget((0, 0))

    def count(self, whole: mmap.mmap, file: tuple[int, int], offset: int) -> tuple[int, int]:
        """Count the lines before an offset and after it.

        Args:
            whole: The file.
            file: Its device and inode.
            offset: Where a line begins.
        """
        with self._counting:
            if file != self._file or len(whole) < self._ends[-1]:  # another run has begun it again
                self._forget(file)
            begin = self._ends[-1]
            # the last block may grow
            while end := whole.find(b"\n", begin + WINDOW) + 1:
                self._totals.append(self._totals[-1] + self._in(whole[begin:end]))
                self._ends.append(end)
                begin = end
            total = self._totals[-1] + self._in(whole[begin:])
            block = bisect_right(self._ends, offset) - 1
            earlier = self._totals[block] + self._in(whole[self._ends[block] : offset])
            return earlier, total - earlier

    def _forget(self, file: tuple[int, int]) -> None:
        self._file = file
        self._ends, self._totals = [0], [0]
        """Where blocks end, and how many lines before that show the text."""

    def _in(self, block: bytes) -> int:
        """Return how many lines of a block show the text."""
        find, overwrites = self._finder(block), b"\r" in block
        found, at = 0, find(0)
        while at >= 0:
            begin, end = block.rfind(b"\n", 0, at) + 1, block.find(b"\n", at)
            end = end if end >= 0 else len(block)
            head = self._start.match(block, begin, end)
            if head is not None and at >= head.end() and not overwrites:
                found += 1
            elif head is not None:
                found += self._shows(block[head.end() : end])
            at = find(end)
        return found

    def _shows(self, line: bytes) -> bool:
        return self._finder(last_state(line))(0) >= 0

    def _finder(self, data: bytes) -> Callable[[int], int]:
        """Return a function that finds the text from an index on: where it begins, or -1."""
        if (text := self._text) is not None:  # far faster than an expression
            lower = data.lower()
            return lambda begin: lower.find(text, begin)
        return lambda begin: -1 if (match := self._expression.search(data, begin)) is None else match.start()
