"""The SQLite file of the job index: opened on demand, private to the user, and rebuilt if damaged."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from dtrain_lab.errors import Unreachable
from dtrain_lab.machine import atomic_files, filesystems

SCHEMA = (
    "CREATE TABLE jobs (id TEXT PRIMARY KEY, name TEXT NOT NULL, created_at REAL NOT NULL, "
    "record BLOB NOT NULL, seen BLOB, ended INTEGER NOT NULL DEFAULT 0)",
    "CREATE INDEX by_time ON jobs (created_at)",
)
WAIT_S = 10.0
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
T = TypeVar("T")
log = logging.getLogger(__name__)


class IndexFile:
    """An SQLite file that several processes may use at once. All methods block.

    Every call raises `Unreachable` if the file can't be read or written.

    Args:
        path: Path of the file.
        refill: Adds jobs to a new file, made because the old one was damaged, empty or missing; returns how
            many it added.
    """

    def __init__(self, path: Path, refill: Callable[[sqlite3.Connection], int]) -> None:
        self._path = path
        self._refill = refill
        self._lock = threading.Lock()
        self._prepared: tuple[int, int] | None = None
        """Device and inode of the file whose tables are known to exist."""

    def write(self, work: Callable[[sqlite3.Connection], T], *, durable: bool = True) -> T:
        """Run a function in one write transaction.

        Args:
            work: Called with the connection; its result is returned.
            durable: Sync to disk before returning.
        """

        def write(base: sqlite3.Connection) -> T:
            base.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            base.execute("BEGIN IMMEDIATE")  # locks now: concurrent writers see each other
            result = work(base)
            base.execute("COMMIT")
            return result

        return self._with(self._open, write)

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run a read-only function on the connection, and return its result."""
        return self._with(self._open_to_read, work)

    def _with(self, opened: Callable[[], sqlite3.Connection], work: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock:
            try:
                try:
                    with closing(opened()) as base:
                        return work(base)
                except sqlite3.DatabaseError as error:
                    if not _damaged(error):
                        raise
                    self._set_aside()
                with closing(opened()) as base:
                    return work(base)
            except (sqlite3.Error, OSError) as error:
                raise Unreachable(
                    f"The index of jobs, {self._path}, can't be used: {error}.",
                    "Check the disk's free space and who owns the folder. Running jobs are not affected.",
                    code="no_index",
                ) from error

    def _open(self) -> sqlite3.Connection:
        folder = self._path.parent
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        base = sqlite3.connect(self._path, timeout=WAIT_S, isolation_level=None)
        try:
            self._prepare(base)
        except BaseException:
            base.close()
            raise
        return base

    def _prepare(self, base: sqlite3.Connection) -> None:
        status = self._path.stat()
        if self._prepared == (status.st_dev, status.st_ino):
            self._fill(base)  # a new file may have the inode number of a removed one
            return
        # SQLite's write-ahead log needs memory shared by all users of the file: one machine only
        mode = "WAL" if filesystems.is_local(self._path) else "DELETE"
        base.execute(f"PRAGMA journal_mode={mode}")
        self._fill(base)
        with contextlib.suppress(PermissionError):  # the file belongs to another user, who allows us to write
            self._path.chmod(0o600)
            self._path.parent.chmod(0o700)
        self._prepared = status.st_dev, status.st_ino

    def _fill(self, base: sqlite3.Connection) -> None:
        """Create missing tables, and recover the jobs of a lost index from their folders."""
        exists = "SELECT 1 FROM sqlite_master WHERE name = 'jobs'"
        if base.execute(exists).fetchone():
            return
        base.execute("BEGIN IMMEDIATE")
        count = 0
        if not base.execute(exists).fetchone():  # otherwise another process was faster
            for line in SCHEMA:
                base.execute(line)
            count = self._refill(base)
        base.execute("COMMIT")
        if count:
            log.warning(
                "%s, the index of jobs, was rebuilt: %d jobs were found in their folders on this machine; "
                "for those of other machines: dtrain-lab job rebuild",
                self._path,
                count,
            )

    def _open_to_read(self) -> sqlite3.Connection:
        """Open for reading, also where the file or its folder is read-only."""
        if not self._path.exists() and not _writable(self._path.parent):
            base = sqlite3.connect(":memory:", isolation_level=None)
            for line in SCHEMA:
                base.execute(line)
            return base
        if self._path.exists() and not (os.access(self._path, os.W_OK) and _writable(self._path.parent)):
            return sqlite3.connect(
                f"file:{quote(str(self._path))}?immutable=1", uri=True, isolation_level=None
            )
        return self._open()

    def _set_aside(self) -> None:
        """Rename the damaged file, and rebuild the index from the jobs' folders."""
        with atomic_files.locked(self._path.with_name(f"{self._path.name}.lock")):
            if not self._is_damaged():  # another process was faster
                return
            aside = f"{self._path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}"
            for suffix in ("", "-wal", "-shm", "-journal"):
                part = self._path.with_name(self._path.name + suffix)
                if part.exists():
                    part.rename(self._path.with_name(aside + suffix))
            self._prepared = None
            log.error("the index of jobs was damaged: it is %s now", self._path.with_name(aside))
            self._open().close()

    def _is_damaged(self) -> bool:
        try:
            with closing(sqlite3.connect(self._path, timeout=WAIT_S)) as base:
                return bool(base.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok")
        except sqlite3.DatabaseError as error:
            if not _damaged(error):
                raise
            return True


def _damaged(error: sqlite3.Error) -> bool:
    return (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF in DAMAGED


def _writable(folder: Path) -> bool:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return os.access(folder, os.W_OK)
