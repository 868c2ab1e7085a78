"""The output of a node's ranks, line by line with time, rank and stream, in the job's `log.NODE`.

What a rank overwrites, as a progress bar, is a line when it has ended. Until then, its present state is
written from time to time in a line of its own, whose stream is an upper-case letter: bars one below another,
separated by carriage returns, none if there are none any more. What shows the log draws the latest of these.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from functools import partial
from pathlib import Path

from dtrain_lab.cells.log_lines import LogLines
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.machine import supervision
from dtrain_lab.node.sources.rank_error import complain
from dtrain_lab.node.sources.spawned_rank import SpawnedRank, exit_code

TAIL_S = 0.5
"""Seconds for the rest of the output of a rank that has ended."""
QUIET_S = 0.3
"""A stream that is silent for so long, seconds, does not return to the lines above its cursor, as a nested
progress bar does within its update."""
BARS_EACH_S = 1.0
"""Minimum seconds between two states of a rank's progress bars in the log."""
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
        lines = LogLines(PIECE)
        shown: list[str] = []
        at = 0.0
        try:
            while (data := await _read(stream, _wait_s(lines, shown, at))) != b"":
                ended = lines.settle() if data is None else lines.feed(data)
                now = time.monotonic()
                if lines.bars != shown and (ended or data is None or now - at >= BARS_EACH_S):
                    shown, at = lines.bars, now
                    self._write(rank, kind, ended, shown)
                else:
                    self._write(rank, kind, ended)
        finally:  # also on cancellation, where a child of the rank holds the stream open
            self._write(rank, kind, lines.finish(), [] if shown else None)

    def _write(self, rank: int, kind: str, lines: list[bytes], bars: list[str] | None = None) -> None:
        """Write lines that have ended, and the bars that are drawn now; None if they are written already."""
        mark = f"{time.time():.3f} {rank} "
        text = b"".join(f"{mark}{kind} ".encode() + line + b"\n" for line in lines)
        if bars is not None:
            drawn = "\r".join(bars)
            text += f"{mark}{kind.upper()} {drawn}\n".encode("utf-8", "surrogateescape")
        if not text:
            return
        try:
            os.write(self._log, text)
        except OSError as error:  # a full disk: the training goes on
            complain(f"the log of node {self._node}: {error.strerror}")


def _wait_s(lines: LogLines, shown: list[str], at: float) -> float | None:
    """Seconds to wait for output before something is due without it; None if nothing is.

    Args:
        lines: The lines of the stream.
        shown: Its bars in the log.
        at: When these were written; monotonic time in seconds.
    """
    if lines.bars != shown:
        return max(QUIET_S, at + BARS_EACH_S - time.monotonic())
    return QUIET_S if lines.is_below else None


async def _read(stream: asyncio.StreamReader, within_s: float | None) -> bytes | None:
    """Return what the stream has next, empty at its end; None if that is nothing within some seconds."""
    try:
        async with asyncio.timeout(within_s):
            return await stream.read(PIECE)
    except TimeoutError:
        return None
