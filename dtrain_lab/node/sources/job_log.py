"""The output of a node's ranks, line by line with time, rank and stream, in the job's `log.NODE`.

A progress bar, whose states follow carriage returns, is one line with all of its states. What shows the log
picks the last one.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from functools import partial
from pathlib import Path

from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.machine import supervision
from dtrain_lab.node.sources.rank_error import complain
from dtrain_lab.node.sources.spawned_rank import SpawnedRank, exit_code

TAIL_S = 0.5
"""Seconds for the rest of the output of a rank that has ended."""
PIECE = 24 << 10
"""Bytes that are read at once. A longer line is cut, so that it has twice as many at most: what shows the log
reads 64 KiB at once (`services.jobs.log`), and would lose the rest of a longer one."""


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

    async def until_end(self, child: SpawnedRank) -> int:
        """Copy the output of a rank until it has ended; returns its exit code."""
        process = child.process
        assert process is not None
        assert process.stdout is not None
        assert process.stderr is not None
        # restarted after an error: a rank whose pipes are not read blocks forever
        readers = [
            supervision.here().start_loop("node.output", partial(self._copy, child.rank, stream, kind))
            for stream, kind in ((process.stdout, "o"), (process.stderr, "e"))
        ]
        code = await exit_code(process)
        # a child of the rank may hold its streams open forever
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TAIL_S):
                for reader in readers:
                    await reader.wait()
        for reader in readers:
            reader.cancel()
        return code

    async def _copy(self, rank: int, stream: asyncio.StreamReader, kind: str) -> None:
        rest = b""
        try:
            while data := await stream.read(PIECE):
                lines = (rest + data).split(b"\n")
                rest = lines.pop()
                if len(rest) > PIECE:
                    at = rest.rfind(b"\r") + 1  # between two states of a progress bar, if it is one
                    at = at if at > len(rest) // 2 else len(rest)
                    lines.append(rest[:at])
                    rest = rest[at:]
                self._write(rank, kind, lines)
        finally:  # also on cancellation, where a child of the rank holds the stream open
            if rest:
                self._write(rank, kind, [rest])

    def _write(self, rank: int, kind: str, lines: list[bytes]) -> None:
        if not lines:
            return
        mark = f"{time.time():.3f} {rank} {kind} ".encode()
        text = b"".join(mark + line + b"\n" for line in lines)
        try:
            os.write(self._log, text)
        except OSError as error:  # a full disk: the training goes on
            complain(f"the log of node {self._node}: {error.strerror}")
