"""Files by which a job outlives its head: what the head writes to the job's folder, and reads from it.

The folder may be on a network file system, whose calls can block for minutes. All of them are made on a
thread, so that a blocked one delays these files and nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from dtrain_lab.jobs import file_names, logged_values
from dtrain_lab.jobs.logged_values import Piece
from dtrain_lab.machine import atomic_files, supervision
from dtrain_lab.machine.supervision import BackgroundTask
from dtrain_lab.wire.jobs.folder import Live
from dtrain_lab.wire.metrics.history import Point

CLOSE_WITHIN_S = 10.0
log = logging.getLogger("dtrain_lab.head")


class LiveFiles:
    """Reads the user's values; writes `live.json` and `metrics.jsonl`.

    Args:
        folder: The job's folder.
        took_values: Called in the event loop with values (`dt.log`) that rank 0 has written since.
        live: Returns the state to write; called in the event loop.
    """

    def __init__(self, folder: Path, took_values: Callable[[Piece], None], live: Callable[[], Live]) -> None:
        self._folder = folder
        self._took_values = took_values
        self._live = live
        self._points: list[Point] = []
        """Points of the history that are not written yet."""
        self._values_at = 0
        self._updating: BackgroundTask | None = None
        self._closed = False

    def update(self) -> None:
        """Read and write in the background; does nothing while an earlier call still does."""
        if self._updating is None or self._updating.done:
            self._updating = supervision.here().once("head.files", self._update())

    def add(self, point: Point) -> None:
        """Append a point of the history with the next update; at once after `close`."""
        self._points.append(point)
        if self._closed:
            self._append(self._take_points())

    async def close(self) -> None:
        """Write the last state, once a running update has ended.

        Raises:
            TimeoutError: The folder is not reachable.
        """
        async with asyncio.timeout(CLOSE_WITHIN_S):
            if self._updating is not None:
                await self._updating.wait()
            self._closed = True
            await self._update()

    async def _update(self) -> None:
        self._took_values(await asyncio.to_thread(self._read_values))
        live, points = msgspec.json.encode(self._live()), self._take_points()
        await asyncio.to_thread(self._write, live, points)

    def _take_points(self) -> list[Point]:
        points, self._points = self._points, []
        return points

    # ---- on the thread

    def _read_values(self) -> Piece:
        """Values since the last call; complete lines only."""
        try:
            with open(self._folder / file_names.VALUES, "rb") as file:
                file.seek(self._values_at)
                data = file.read()
        except FileNotFoundError:
            data = b""
        piece = logged_values.parse(data)
        self._values_at += piece.size
        for line in piece.unreadable:
            log.warning("%s: a line can't be read: %r", file_names.VALUES, line[:200])
        return piece

    def _write(self, live: bytes, points: list[Point]) -> None:
        self._append(points)
        with _full_disk():
            atomic_files.swap(self._folder / file_names.LIVE, live)

    def _append(self, points: list[Point]) -> None:
        if points:
            with _full_disk(), open(self._folder / file_names.HISTORY, "ab") as file:
                file.write(b"".join(msgspec.json.encode(point) + b"\n" for point in points))


@contextlib.contextmanager
def _full_disk() -> Iterator[None]:
    """Log errors of writing to the job's folder, as on a full disk: the training goes on."""
    try:
        yield
    except OSError as failure:
        log.warning("the job's folder: %s", failure.strerror)
        with contextlib.suppress(OSError):  # the log is in the same folder
            os.write(2, f"dtrain-lab: the job's folder: {failure.strerror}\n".encode())
