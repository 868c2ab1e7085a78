"""The output of a node's ranks, line by line with time, rank and stream, in the job's `log.NODE`."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from dtrain_lab.jobs import files as job_files
from dtrain_lab.node.sources.rank_error import complain

PIECE = 1 << 16
"""Bytes that are read at once, and the most that a line has."""


class Output:
    """Writes the log of a node.

    Args:
        folder: the job's folder.
        node: index of the node.
    """

    def __init__(self, folder: Path, node: int) -> None:
        self._node = node
        path = folder / job_files.log(node)
        self._log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    async def copy(self, rank: int, stream: asyncio.StreamReader, kind: str) -> None:
        """Copy a stream of a rank until it ends.

        Args:
            rank: number of the rank.
            stream: its standard output or error.
            kind: "o" or "e".
        """
        rest = b""
        try:
            while data := await stream.read(PIECE):
                lines = (rest + data).split(b"\n")
                rest = lines.pop()
                if len(rest) > PIECE:  # a very long line
                    lines.append(rest)
                    rest = b""
                self._write(rank, kind, lines)
        finally:  # also on cancellation, where a child of the rank holds the stream open
            if rest:
                self._write(rank, kind, [rest])

    def _write(self, rank: int, kind: str, lines: list[bytes]) -> None:
        if not lines:
            return
        mark = f"{time.time():.3f} {rank} {kind} ".encode()
        text = b"".join(mark + line.replace(b"\r", b"\\r") + b"\n" for line in lines)
        try:
            os.write(self._log, text)
        except OSError as error:  # a full disk: the training goes on
            complain(f"the log of node {self._node}: {error.strerror}")
