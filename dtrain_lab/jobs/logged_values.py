"""Parses what rank 0 has passed to `dt.log`: the lines of a job's `values.jsonl`."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from dtrain_lab.wire.jobs.logged import ValuesLine

_decode = msgspec.json.Decoder(ValuesLine).decode


class Piece(NamedTuple):
    """A piece of the file: the values of its whole lines. `size`: bytes of these lines."""

    values: tuple[ValuesLine, ...]
    unreadable: tuple[bytes, ...]
    size: int


def parse(data: bytes) -> Piece:
    """Parse a piece of the file that begins at a line; an incomplete last line is left for the next piece.

    A line can't be read if it was cut off, because the disk was full or the rank was killed.
    """
    whole = data[: data.rfind(b"\n") + 1]
    values: list[ValuesLine] = []
    unreadable: list[bytes] = []
    for line in whole.splitlines():
        try:
            values.append(_decode(line))
        except msgspec.DecodeError:
            unreadable.append(line)
    return Piece(tuple(values), tuple(unreadable), len(whole))
