"""A job's log: a file a node, read in pieces and merged by time."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dtrain_lab.backends.jobs import Place
from dtrain_lab.core import jobfiles
from dtrain_lab.core.job import JobRecord, Log
from dtrain_lab.errors import BadRequest

PIECE = 64 << 10
END, START = "end", "start"


def parse(offset: str, nodes: Sequence[int]) -> dict[int, int | None]:
    """Where to go on in each node's file; None for its end.

    Args:
        offset: "0:1234,1:0" as `LogPiece` gives it, "start", "end", or a number for all.

    Raises:
        BadRequest: it is none of these.
    """
    if offset == END:
        return dict.fromkeys(nodes)
    if offset in (START, ""):
        return dict.fromkeys(nodes, 0)
    try:
        if offset.isdecimal():
            return dict.fromkeys(nodes, int(offset))
        told = {int(n): int(at) for n, at in (part.split(":") for part in offset.split(","))}
    except ValueError:
        raise BadRequest(
            f'offset is "{offset}".', 'Use "start", "end", or the offset of the piece before.'
        ) from None
    return {node: told.get(node, 0) for node in nodes}


async def read(
    record: JobRecord, places: Sequence[Place], offset: str, ranks: Collection[int] | None
) -> tuple[tuple[Log, ...], str, bool]:
    """A piece of the log.

    Args:
        offset: see `parse`.
        ranks: whose lines; None for all.

    Returns:
        Lines by time, the offset to go on from, and whether there may be more right now.
    """
    nodes = [node for place in places for node in place.nodes]
    at = parse(offset, nodes)
    lines: list[Log] = []
    more = False
    reached: dict[int, int] = {}
    for place in places:
        for node in place.nodes:
            path = f"{record.directory}/{jobfiles.log(node)}"
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
            more = more or len(data) == PIECE
            rows = whole.splitlines()
            lines += _lines(rows[1:] if cut else rows, ranks)
    lines.sort(key=lambda line: line.time)
    return tuple(lines), ",".join(f"{n}:{p}" for n, p in sorted(reached.items())), more


async def find(
    record: JobRecord, places: Sequence[Place], text: str, offset: str, *, back: int = 4096
) -> str | None:
    """The offset of the next line with a text in it, a little before it; None where there is none."""
    nodes = [node for place in places for node in place.nodes]
    at = parse(offset, nodes)
    for place in places:
        for node in place.nodes:
            path = f"{record.directory}/{jobfiles.log(node)}"
            found = await place.transport.find(path, text.encode(), at[node] or 0)
            if found is not None:
                data = await place.transport.read(path, max(0, found - back), back) or b""
                begin = max(0, found - back) + (data.find(b"\n") + 1 if found > back else 0)
                return ",".join(f"{n}:{begin if n == node else at[n] or 0}" for n in nodes)
    return None


def _lines(rows: Sequence[bytes], ranks: Collection[int] | None) -> list[Log]:
    found = []
    for row in rows:
        parts = row.split(b" ", 3)
        if len(parts) != 4:
            continue
        try:
            when, rank = float(parts[0]), int(parts[1])
        except ValueError:
            continue
        if ranks is None or rank in ranks:
            found.append(Log(when, rank, parts[3].decode("utf-8", "replace"), parts[2] == b"e"))
    return found
