"""This process's log and its record of failures, in files that `doctor` reads."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import os
import queue
import time
from collections.abc import Callable
from functools import partial
from logging.handlers import QueueHandler, QueueListener
from pathlib import Path
from typing import Any

import msgspec

from dtrain_lab.errors import DtrainError
from dtrain_lab.machine import atomic_files, supervision
from dtrain_lab.machine.logs import event_logs
from dtrain_lab.services import paths
from dtrain_lab.wire.loop_failures import InternalFailure

LOGGER = "dtrain_lab"
KEPT_S = 7 * 86400.0
FAILURES = "troubles."
log = logging.getLogger("dtrain_lab.reporting")


class _Forward(logging.Handler):
    """Forwards records to another logger, such as the Jupyter server's."""

    def __init__(self, to: Any) -> None:
        super().__init__()
        self._to = to

    def emit(self, record: logging.LogRecord) -> None:
        """Forward a record."""
        if self._to.isEnabledFor(record.levelno):
            self._to.handle(record)


def begin(kind: str, also_to: Any = None) -> None:
    """Start logging to this process's file, which the first record creates; later calls do nothing.

    Args:
        kind: Kind of process: "server", "kernel", "python", "terminal".
        also_to: A logger that receives the same records.
    """
    logger = logging.getLogger(LOGGER)
    ours = [h for h in logger.handlers if getattr(h, "dtrain_pid", None) == os.getpid()]
    for handler in [h for h in logger.handlers if hasattr(h, "dtrain_pid")]:
        if handler not in ours or also_to is not None:
            logger.removeHandler(handler)
    if ours and also_to is None:
        return
    handlers: list[logging.Handler] = [_Forward(also_to)] if also_to is not None else []
    try:
        folder = paths.logs()
        _clean(folder)
    except (OSError, DtrainError):  # the disk is full or read-only: log to no file
        pass
    else:
        file = event_logs.to_file(folder / f"{kind}.{os.getpid()}{event_logs.SUFFIX}", LOGGER, "WARNING")
        logger.removeHandler(file)
        handlers.append(_behind(file))
    for handler in handlers:
        handler.dtrain_pid = os.getpid()
        if handler not in logger.handlers:
            logger.addHandler(handler)


def _behind(file: logging.Handler) -> logging.Handler:
    """Write through a thread, so that a slow disk does not block the event loop."""
    lines: queue.SimpleQueue[logging.LogRecord] = queue.SimpleQueue()
    writer = QueueListener(lines, file)
    writer.start()
    atexit.register(writer.stop)
    return QueueHandler(lines)


def watch(kind: str) -> None:
    """Record failures of the running loop's tasks where `doctor` finds them."""
    loop = asyncio.get_running_loop()
    supervision.here().on_failure.append(lambda failures: _soon(loop, partial(_save, kind, failures)))


def _soon(loop: asyncio.AbstractEventLoop, work: Callable[[], None]) -> None:
    loop.run_in_executor(None, work)


def recent_failures(since: float) -> dict[str, tuple[InternalFailure, ...]]:
    """Return recent failures in this user's processes: "server 1234" → its failures.

    Args:
        since: Seconds since 1970.
    """
    by_process = {}
    for path in sorted(paths.logs().glob(f"{FAILURES}*.json")):
        try:
            failures = msgspec.json.decode(path.read_bytes(), type=tuple[InternalFailure, ...])
        except (OSError, msgspec.DecodeError):  # removed meanwhile, or written by another version
            continue
        late = tuple(t for t in failures if t.at >= since)
        if late:
            by_process[path.name.removeprefix(FAILURES).removesuffix(".json").replace(".", " ")] = late
    return by_process


def _save(kind: str, failures: tuple[InternalFailure, ...]) -> None:
    try:
        path = paths.logs() / f"{FAILURES}{kind}.{os.getpid()}.json"
        atomic_files.swap(path, msgspec.json.encode(failures))
    except (OSError, DtrainError) as error:  # the disk is full; the log has the failure
        log.warning("what failed can't be kept for doctor: %s", error)


def _clean(folder: Path) -> None:
    """Delete files that are older than a week."""
    for path in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mtime < time.time() - KEPT_S:
                path.unlink(missing_ok=True)
