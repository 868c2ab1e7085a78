"""The index of jobs: quick to list, and never the truth: that is `job.json` in each job's folder."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec

from dtrain_lab.core.job import Job, JobRecord
from dtrain_lab.core.kinds import JOB_ENDED

SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, created_at REAL NOT NULL,
    record BLOB NOT NULL, seen BLOB, ended INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS by_time ON jobs (created_at);
"""
WAIT_S = 10.0


class Store:
    """Jobs by id. Several servers and terminals may use it at once.

    Args:
        path: of the file; `-wal` beside it needs a local disk, so elsewhere the journal is a plain one.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._lock = threading.Lock()
        with closing(self._open()) as base:
            try:
                base.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError:  # a network file system
                base.execute("PRAGMA journal_mode=DELETE")
            base.executescript(SCHEMA)
        path.chmod(0o600)

    def put(self, record: JobRecord) -> None:
        """Note a job, or what has changed of it."""
        with self._lock, closing(self._open()) as base, base:
            _put(base, record)

    def add(self, record: JobRecord, clashes: Callable[[JobRecord], bool]) -> JobRecord | None:
        """Note a new job, unless one that is not known to have ended clashes with it.

        Args:
            record: of the new one.
            clashes: whether a job that is there keeps it out.

        Returns:
            The job that does; None where the new one was noted.
        """
        with self._lock, closing(self._open()) as base:
            base.isolation_level = None
            base.execute("BEGIN IMMEDIATE")  # two submissions at once see each other
            other = next((known for known in _active(base) if clashes(known)), None)
            if other is None:
                _put(base, record)
            base.execute("COMMIT")
        return other

    def see(self, record: JobRecord, seen: Job) -> None:
        """Note how a job was seen, unless its record has changed since: then somebody looks again."""
        ended = int(seen.state in JOB_ENDED)
        with self._lock, closing(self._open()) as base, base:
            base.execute(
                "UPDATE jobs SET seen = ?, ended = ? WHERE id = ? AND record = ?",
                (msgspec.json.encode(seen), ended, record.id, msgspec.json.encode(record)),
            )

    def remove(self, identity: str) -> None:
        """Forget a job."""
        with self._lock, closing(self._open()) as base, base:
            base.execute("DELETE FROM jobs WHERE id = ?", (identity,))

    def active(self) -> list[JobRecord]:
        """Jobs that are not known to have ended, oldest first."""
        with self._lock, closing(self._open()) as base:
            return _active(base)

    def seen(self, most: int = 1000) -> list[Job]:
        """Jobs as they were last seen, newest first."""
        with self._lock, closing(self._open()) as base:
            rows = base.execute(
                "SELECT seen FROM jobs WHERE seen IS NOT NULL ORDER BY created_at DESC LIMIT ?", (most,)
            ).fetchall()
        return [msgspec.json.decode(row[0], type=Job) for row in rows]

    def find(self, name: str) -> tuple[JobRecord, Job | None] | None:
        """A job by its id, the beginning of its id, or the newest of its name."""
        with self._lock, closing(self._open()) as base:
            row = base.execute(
                "SELECT record, seen FROM jobs WHERE id = ?1 OR name = ?1 OR (length(?1) > 3 AND "
                "substr(id, 1, length(?1)) = ?1) ORDER BY id = ?1 DESC, created_at DESC LIMIT 1",
                (name,),
            ).fetchone()
        if row is None:
            return None
        seen = None if row[1] is None else msgspec.json.decode(row[1], type=Job)
        return msgspec.json.decode(row[0], type=JobRecord), seen

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=WAIT_S)


def _put(base: sqlite3.Connection, record: JobRecord) -> None:
    base.execute(
        "INSERT INTO jobs (id, name, created_at, record) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (id) DO UPDATE SET record = excluded.record",
        (record.id, record.name, record.created_at, msgspec.json.encode(record)),
    )


def _active(base: sqlite3.Connection) -> list[JobRecord]:
    rows = base.execute("SELECT record FROM jobs WHERE ended = 0 ORDER BY created_at").fetchall()
    return [msgspec.json.decode(row[0], type=JobRecord) for row in rows]
