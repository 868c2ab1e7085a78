"""Reading a job's log: one file per node, read in pieces and merged by time."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from dtrain_lab.backends.base import Place
from dtrain_lab.cells.merge import last_state
from dtrain_lab.errors import BadRequest
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.wire.jobs.job import JobRecord
from dtrain_lab.wire.jobs.log import Log, LogBars, LogMatches, LogPiece

PIECE = 64 << 10
END, START = "end", "start"
NUMBER = re.compile(r"[0-9]{1,18}")
PART = re.compile(r"([0-9]{1,9}):([0-9]{1,18})")
"""Node and byte offset; 18 digits suffice for any file."""


class Part(NamedTuple):
    """A part of a log: lines in order of time.

    `offset`: of the next part. `more`: whether more may be available already. `start`: whether it begins with
    the log's first line. `bars`: as in `LogPiece`.
    """

    lines: tuple[Log, ...]
    offset: str
    more: bool
    start: bool
    bars: tuple[LogBars, ...] = ()


class CurrentBars:
    """The progress bars at the end of a log that is read in pieces."""

    def __init__(self) -> None:
        self._bars: dict[tuple[int, bool], LogBars] = {}

    def take(self, piece: LogPiece) -> None:
        """Take over what a piece says of them."""
        self._bars |= {(bars.rank, bars.error): bars for bars in piece.bars}

    def lines(self) -> list[Log]:
        """Return their present state, by rank, as lines."""
        return [
            Log(bars.time, bars.rank, row, bars.error)
            for _, bars in sorted(self._bars.items())
            for row in bars.rows
        ]


def parse(offset: str, nodes: Sequence[int]) -> dict[int, int | None]:
    """Parse an offset into a byte offset for each node's file; None means the end of the file.

    Args:
        offset: "0:1234,1:0" as in `LogPiece`, "start", "end", or one number for all files.
        nodes: Numbers of the nodes.

    Raises:
        BadRequest: The offset is invalid.
    """
    if offset == END:
        return dict.fromkeys(nodes)
    if offset in (START, ""):
        return dict.fromkeys(nodes, 0)
    if NUMBER.fullmatch(offset):
        return dict.fromkeys(nodes, int(offset))
    parts = [PART.fullmatch(part) for part in offset.split(",")]
    if not all(parts):
        raise BadRequest(
            f'offset is "{offset[:80]}".', 'Use "start", "end", or the offset of the piece before.'
        )
    offsets = {int(part[1]): int(part[2]) for part in parts if part is not None}
    return {node: offsets.get(node, 0) for node in nodes}


async def read(
    record: JobRecord, places: Sequence[Place], offset: str, ranks: Collection[int] | None
) -> Part:
    """Read a piece of the log.

    Args:
        record: The job.
        places: Where its folders are.
        offset: See `parse`.
        ranks: Ranks whose lines are returned; None for all.
    """
    nodes = [node for place in places for node in place.nodes]
    at = parse(offset, nodes)
    lines: list[Log] = []
    bars: dict[tuple[int, bool], LogBars] = {}
    more, start = False, True
    reached: dict[int, int] = {}
    for place in places:
        for node in place.nodes:
            path = f"{record.directory}/{job_files.log(node)}"
            begin = at[node]
            cut = False
            if begin is None:
                size = await place.transport.size(path)
                begin = max(0, size - PIECE)
                cut = begin > 0
            data = await place.transport.read(path, begin, PIECE) or b""
            whole = data[: data.rfind(b"\n") + 1]
            if len(data) == PIECE and not whole:  # a line longer than a piece
                whole = data
            reached[node] = begin + len(whole)
            start = start and begin == 0
            more = more or len(data) == PIECE
            rows = whole.removesuffix(b"\n").split(
                b"\n"
            )  # progress bars have carriage returns in their lines
            for found in _parsed(rows[1:] if cut else rows, ranks):
                if isinstance(found, LogBars):
                    bars[found.rank, found.error] = found
                else:
                    lines.append(found)
    lines.sort(key=lambda line: line.time)
    offsets = ",".join(f"{n}:{p}" for n, p in sorted(reached.items()))
    return Part(tuple(lines), offsets, more, start, tuple(bars.values()))


async def sizes(record: JobRecord, places: Sequence[Place]) -> tuple[int, ...]:
    """Return the sizes of a log's files, in bytes.

    Args:
        record: The job.
        places: Where its folders are.
    """
    return tuple(
        [
            await place.transport.size(f"{record.directory}/{job_files.log(node)}")
            for place in places
            for node in place.nodes
        ]
    )


async def find(
    record: JobRecord,
    places: Sequence[Place],
    text: str,
    offset: str,
    before: bytes = b"",
    *,
    back: int = 4096,
) -> str | None:
    """Find the next line that contains a text; with `before`, one that shows it.

    Args:
        record: Record of the job.
        places: Locations of its folder.
        text: The text.
        offset: See `parse`.
        before: What the line starts with, as in `Transport.find`; see `written_by`.
        back: Maximum distance of the result from the match, in bytes.

    Returns:
        The offset, not before the given one; None if there is no such line.
    """
    nodes = [node for place in places for node in place.nodes]
    at = parse(offset, nodes)
    for place in places:
        for node in place.nodes:
            path = f"{record.directory}/{job_files.log(node)}"
            position = await place.transport.find(path, text.encode(), at[node] or 0, before)
            if position is not None:
                data = await place.transport.read(path, max(0, position - back), back) or b""
                begin = max(0, position - back) + (data.find(b"\n") + 1 if position > back else 0)
                begin = max(begin, at[node] or 0)  # what was found before is not found again
                return ",".join(f"{n}:{begin if n == node else at[n] or 0}" for n in nodes)
    return None


async def count(
    record: JobRecord, places: Sequence[Place], text: str, offset: str, before: bytes
) -> LogMatches:
    """Count the lines of a log that show a text.

    Args:
        record: Record of the job.
        places: Locations of its folder.
        text: The text.
        offset: See `parse`.
        before: As in `find`.
    """
    nodes = [node for place in places for node in place.nodes]
    at = parse(offset, nodes)
    earlier = later = 0
    for place in places:
        for node in place.nodes:
            path = f"{record.directory}/{job_files.log(node)}"
            begin = at[node]
            if begin is None:
                begin = await place.transport.size(path)
            counted = await place.transport.count(path, text.encode(), begin, before)
            earlier, later = earlier + counted[0], later + counted[1]
    return LogMatches(earlier, later)


def written_by(ranks: Collection[int] | None) -> bytes:
    """Return what a line of a log starts with if one of these ranks wrote it: a pattern for `find`.

    Progress bars that are still drawn are no lines: their letter is upper-case.

    Args:
        ranks: The ranks; None for all.
    """
    who = "[0-9]+" if ranks is None else f"({'|'.join(map(str, sorted(ranks)))})"
    return f"[0-9.]+ {who} [a-z] ".encode()


def _parsed(rows: Sequence[bytes], ranks: Collection[int] | None) -> Iterator[Log | LogBars]:
    for row in rows:
        parts = row.split(b" ", 3)
        if len(parts) != 4:
            continue
        try:
            when, rank = float(parts[0]), int(parts[1])
        except ValueError:
            continue
        if ranks is not None and rank not in ranks:
            continue
        kind, written = parts[2], parts[3].decode("utf-8", "replace")
        if kind.isupper():
            bars = tuple(bar for bar in written.split("\r") if bar)
            yield LogBars(when, rank, bars, kind == b"E")
            continue
        text = last_state(written)
        if text.strip() or "\r" not in written:  # a bar that was removed in the end leaves nothing
            yield Log(when, rank, text, kind == b"e")
