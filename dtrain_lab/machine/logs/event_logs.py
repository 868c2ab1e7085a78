"""Log files of our own processes: one line per event, rotated at a size limit."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from logging.handlers import RotatingFileHandler
from pathlib import Path

MOST_BYTES = 1 << 20
KEPT = 2
"""Number of rotated files that are kept."""
LEVEL_VARIABLE = "DTRAIN_LAB_LOG_LEVEL"
SUFFIX = ".events.log"


class OneLine(logging.Formatter):
    """Time, level, logger, message; a traceback follows in the same line, with its line ends escaped."""

    converter = staticmethod(time.gmtime)

    def __init__(self) -> None:
        super().__init__("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s[%(process)d] %(message)s")
        self.datefmt = "%Y-%m-%dT%H:%M:%S"

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as one line."""
        return super().format(record).replace("\r", "\\r").replace("\n", "\\n")


class _File(RotatingFileHandler):
    def handleError(self, record: logging.LogRecord) -> None:
        """Write the record to stderr: a full or missing disk must not end the process."""
        with contextlib.suppress(OSError, ValueError):
            # bypass Python's buffer: bytes that it could not write would change the exit code
            os.write(2, (self.format(record) + "\n").encode("utf-8", "replace"))


def take_streams(file: Path) -> None:
    """Redirect stdout and stderr of this process to a file, since the process that started it may end."""
    target = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number in (1, 2):
        os.dup2(target, number)
    os.close(target)


def to_file(file: Path, logger: str = "", level: str = "INFO") -> logging.Handler:
    """Make a logger (by default the root logger) write to a file, which is created with the first record.

    Args:
        file: Path; its folder has to exist by then.
        logger: Name of the logger.
        level: Minimum level; the variable `DTRAIN_LAB_LOG_LEVEL` overrides it.
    """
    handler = _File(file, maxBytes=MOST_BYTES, backupCount=KEPT, encoding="utf-8", delay=True)
    handler.setFormatter(OneLine())
    chosen = logging.getLevelName(os.environ.get(LEVEL_VARIABLE, level).upper())
    handler.setLevel(chosen if isinstance(chosen, int) else logging.INFO)
    target = logging.getLogger(logger)
    target.addHandler(handler)
    if target.level == logging.NOTSET or target.level > handler.level:
        target.setLevel(handler.level)
    return handler
