"""Output of several ranks as one text: lines labelled by rank, and equal lines merged.

`[0-3] epoch 1` is one line that four ranks printed. Each rank's lines keep their order across stdout and
stderr, and no line is split by another rank's. Pure: callers pass the time.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import AnyStr

from dtrain_lab.cells.ansi import Colours
from dtrain_lab.cells.screen import Screen, overwrites
from dtrain_lab.text import rank_names
from dtrain_lab.wire.jobs.log import Log

HOLD_S = 0.010
"""A line waits this long for the same line of other ranks."""
PARTIAL_HOLD_S = 0.03
"""An unfinished line waits this long for its end, so that ranks don't cut each other's lines."""
BURST_HOLD_S = 0.3
"""The same after whole lines: a rank that prints many lines sends its buffer in the middle of one."""
MANY = 500
"""A burst of more lines than this is handled as one block and compared with other ranks' as a whole."""


@dataclass(frozen=True)
class Piece:
    """Text that one or more ranks printed: a line, or an unfinished one if `text` has no newline."""

    stream: str
    text: str
    ranks: tuple[int, ...] = ()


@dataclass
class _Waiting:
    stream: str
    text: str
    since: float
    hold_s: float = HOLD_S


class LineMerger:
    """Collects the output of ranks and returns merged whole lines.

    Args:
        ranks: number of ranks that run the cell, or 0 if unknown. A line is shown without delay once
            all of them have printed it.
    """

    def __init__(self, ranks: int = 0) -> None:
        self._ranks = ranks
        self._queues: dict[int, deque[_Waiting]] = {}
        self._tails: dict[tuple[int, str], _Waiting] = {}
        self._colours: dict[tuple[int, str], Colours] = {}
        self._screens: dict[tuple[int, str], Screen] = {}
        """Streams that overwrite what they have printed."""
        self._printed: dict[tuple[int, str], float] = {}
        """Time of the last text of these streams."""

    @property
    def progress(self) -> dict[int, dict[int, str]]:
        """Rank → row → progress bar now shown."""
        bars: dict[int, dict[int, str]] = {}
        for (rank, _), screen in sorted(self._screens.items(), key=lambda item: item[0]):
            for text in screen.bars:
                rows = bars.setdefault(rank, {})
                rows[len(rows)] = text
        return bars

    def feed(self, rank: int, stream: str, text: str, now: float) -> None:
        """Add text that a rank printed.

        Args:
            rank: the rank that printed it.
            stream: "stdout" or "stderr".
            text: the text, which may end within a line.
            now: time in seconds, on the clock that `ready` is called with.
        """
        tail = self._tails.pop((rank, stream), None)
        if tail is not None:
            text = tail.text + text
        for other in ("stdout", "stderr"):
            if other != stream:
                self._settle(rank, other, now)
        text = text.replace("\r\n", "\n")
        if (rank, stream) in self._screens or overwrites(text):
            text = self._print(rank, stream, text, now)
        end = text.rfind("\n") + 1
        if end < len(text):
            since = tail.since if tail is not None and not end else now
            hold = BURST_HOLD_S if end else tail.hold_s if tail is not None else PARTIAL_HOLD_S
            self._tails[rank, stream] = _Waiting(stream, text[end:], since, hold)
        if end:
            self._queue(rank, stream, text[:end], now)

    def ready(self, now: float) -> list[Piece]:
        """Return the pieces that can be shown now, in order.

        Args:
            now: time in seconds.
        """
        for (rank, stream), printed in list(self._printed.items()):
            if printed + BURST_HOLD_S <= now:
                self._settle(rank, stream, printed)
        for (rank, stream), tail in list(self._tails.items()):
            if tail.since + tail.hold_s <= now:
                del self._tails[rank, stream]
                self._queues.setdefault(rank, deque()).append(_Waiting(stream, tail.text, tail.since))
        return self._merge(now)

    def finish(self) -> list[Piece]:
        """Return all remaining pieces once the ranks have stopped printing."""
        for (rank, stream), printed in list(self._printed.items()):
            self._settle(rank, stream, printed)
        for (rank, stream), screen in sorted(self._screens.items(), key=lambda item: item[0]):
            *lines, last = screen.finish().split("\n")
            waiting = [_Waiting(stream, line + "\n", float("inf")) for line in lines]
            if last:
                waiting.append(_Waiting(stream, last, float("inf")))
            if waiting:
                self._queues.setdefault(rank, deque()).extend(waiting)
        for (rank, stream), tail in sorted(self._tails.items()):
            self._queues.setdefault(rank, deque()).append(_Waiting(stream, tail.text, float("inf")))
        self._tails.clear()
        self._screens.clear()
        self._printed.clear()
        return self._merge(float("inf"))

    def due(self) -> float | None:
        """Return the time in seconds at which `ready` has something new; None while nothing waits."""
        times = [queue[0].since + HOLD_S for queue in self._queues.values()]
        times += [tail.since + tail.hold_s for tail in self._tails.values()]
        times += [
            self._printed[key] + BURST_HOLD_S for key, screen in self._screens.items() if screen.is_below
        ]
        return min(times, default=None)

    def _queue(self, rank: int, stream: str, text: str, now: float) -> None:
        queue = self._queues.setdefault(rank, deque())
        if text.count("\n") > MANY:
            queue.append(_Waiting(stream, text, now))
        else:
            # not `splitlines`, which also splits at form feeds and Unicode separators
            lines = text[:-1].split("\n")
            if "\x1b[" in text or (rank, stream) in self._colours:
                colours = self._colours.setdefault((rank, stream), Colours())
                lines = [colours.line(line) for line in lines]
            queue.extend(_Waiting(stream, line + "\n", now) for line in lines)

    def _merge(self, now: float) -> list[Piece]:
        shown: list[Piece] = []
        queues = self._queues
        while queues:
            first = min(queues, key=lambda rank: (queues[rank][0].since, rank))
            head = queues[first][0]
            same = [r for r, q in queues.items() if q[0].text == head.text and q[0].stream == head.stream]
            if len(same) != self._ranks and head.since + HOLD_S > now:
                break
            for rank in same:
                queues[rank].popleft()
                if not queues[rank]:
                    del queues[rank]
            shown.append(Piece(head.stream, head.text, tuple(sorted(same))))
        return shown

    def _print(self, rank: int, stream: str, text: str, now: float) -> str:
        """Draw text that is overwritten, or was before; returns what is not overwritten any more."""
        key = (rank, stream)
        screen = self._screens.setdefault(key, Screen())
        self._printed[key] = now
        lines = screen.feed(text)
        if not screen.is_plain:
            return lines
        del self._screens[key], self._printed[key]
        return lines + screen.rest()

    def _settle(self, rank: int, stream: str, now: float) -> None:
        """End lines of a stream whose cursor is below them, and has not returned."""
        screen = self._screens.get((rank, stream))
        if screen is not None and screen.is_below:
            lines = screen.settle()
            if lines:
                self._queue(rank, stream, lines, now)
            if screen.is_plain:
                del self._screens[rank, stream], self._printed[rank, stream]
                if screen.rest():
                    self._tails[rank, stream] = _Waiting(stream, screen.rest(), now)


def last_state(line: AnyStr) -> AnyStr:
    """Return what a line finally shows: the last non-empty text between carriage returns.

    Args:
        line: The line, without its line feed.
    """
    if isinstance(line, bytes):
        return line.rstrip(b"\r").rpartition(b"\r")[2]
    return line.rstrip("\r").rpartition("\r")[2]


class LineWriter:
    """Labels merged lines with their ranks, and tracks which ranks' line is still unfinished."""

    def __init__(self) -> None:
        self._open: tuple[str, tuple[int, ...]] | None = None
        self._cut: set[tuple[str, int]] = set()
        """Stream and rank of unfinished lines that were ended early to show another rank's line."""

    def write(self, piece: Piece) -> str:
        """Return the text to show for a piece, with its label."""
        before = ""
        if self._open is not None and self._open != (piece.stream, piece.ranks):
            stream, ranks = self._open
            self._cut.update((stream, rank) for rank in ranks)
            self._open = None
            before = "\n"
        piece = self._without_ends(piece)
        if not piece.text:
            return before
        key = (piece.stream, piece.ranks)
        label = f"[{rank_names.compact(piece.ranks)}] "
        lead = "" if self._open == key else label
        ends = piece.text.endswith("\n")
        self._open = None if ends else key
        body = piece.text[:-1] if ends else piece.text
        return before + lead + body.replace("\n", "\n" + label) + ("\n" if ends else "")

    def _without_ends(self, piece: Piece) -> Piece:
        """Drop a late newline for ranks whose unfinished line was already ended early."""
        cut = {rank for rank in piece.ranks if (piece.stream, rank) in self._cut}
        self._cut -= {(piece.stream, rank) for rank in cut}
        if not cut or piece.text != "\n":
            return piece
        left = tuple(rank for rank in piece.ranks if rank not in cut)
        return Piece(piece.stream, piece.text if left else "", left)


_VARIES = re.compile(r"[\d.,:?%]+|[\s█▏▎▍▌▋▊▉#|]+|s/it|it/s")
MANY_BARS = 8


def progress_rows(bars: dict[int, dict[int, str]]) -> list[tuple[tuple[int, ...], str]]:
    """Arrange the progress bars of all ranks in rows.

    Equal bars are shown once. Above `MANY_BARS` rows, similar bars are folded into the one that is
    furthest behind.

    Args:
        bars: rank → row → bar.

    Returns:
        Ranks and text of each row, ordered by row and then by rank.
    """
    rows: dict[tuple[int, str], list[int]] = {}
    for rank, bars_of_rank in sorted(bars.items()):
        for number, text in bars_of_rank.items():
            rows.setdefault((number, text.strip("\r")), []).append(rank)
    ordered = sorted((number, members, text) for (number, text), members in rows.items())
    if len(ordered) > MANY_BARS:
        ordered = _fold(ordered)
    return [(tuple(members), text) for _, members, text in ordered]


def _fold(rows: Iterable[tuple[int, list[int], str]]) -> list[tuple[int, list[int], str]]:
    alike: dict[tuple[int, str], list[tuple[float, list[int], str]]] = {}
    for number, members, text in rows:
        alike.setdefault((number, _VARIES.sub("", text)), []).append((_share(text), members, text))
    folded = []
    for (number, _), entries in alike.items():
        entries.sort()
        members = sorted(rank for _, some, _ in entries for rank in some)
        folded.append((number, members, entries[0][2]))
    return sorted(folded)


def _share(text: str) -> float:
    match = re.search(r"(\d+)%", text)
    return float(match[1]) if match else 0.0


def job_line(line: Log) -> str:
    """Format a line of a job's log with its rank as the label."""
    return f"[{line.rank}] {line.text}"
