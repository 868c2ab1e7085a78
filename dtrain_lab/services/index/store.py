"""The index of jobs in SQLite: fast to list, but only a cache of `job.json` in each job's folder.

All methods block: from an event loop, call them through `async_index`, which has a thread of its own. The
first call opens the file. A damaged file is renamed; a damaged or missing one is rebuilt from the jobs'
folders. A row that this version can't read is kept, and does not hide other rows.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from dtrain_lab.errors import Conflict, NotFound, WireMismatch
from dtrain_lab.jobs.state import is_final
from dtrain_lab.services.index.file import IndexFile
from dtrain_lab.wire.codec import lenient
from dtrain_lab.wire.jobs.job import Job, JobRecord

ACTIVE, ENDED, LOST = 0, 1, 2
"""Values of the column `ended`: a job's last seen state. Lost jobs are read again."""
T = TypeVar("T")
Filed = tuple[JobRecord, bytes]
"""A record and its JSON, which may have fields that only another version knows."""
log = logging.getLogger(__name__)


class Row(NamedTuple):
    """A row of the index."""

    id: str
    name: str
    created_at: float
    record: bytes
    seen: bytes | None
    ended: int


class JobIndex:
    """Jobs by id. Several servers and terminals may use it at once.

    Every method raises `Unreachable` if the file can't be read or written.

    Args:
        path: Path of the file.
        refill: Yields the jobs for a new file, made because the old one was damaged, empty or missing.
    """

    def __init__(self, path: Path, refill: Callable[[], Iterable[Filed]] = tuple) -> None:
        self._file = IndexFile(path, lambda base: sum(_put(base, *filed) for filed in refill()))
        self._reported: set[str] = set()

    # ---- write

    def put(self, record: JobRecord, data: bytes | None = None) -> None:
        """Insert or update a job.

        Args:
            record: Record of the job.
            data: Its JSON, if that may have fields that this version does not know.
        """
        self._file.write(lambda base: _put(base, record, data))

    def add(
        self, record: JobRecord, clashes: Callable[[JobRecord], bool] = lambda _: False
    ) -> JobRecord | None:
        """Add a new job, unless a job that is not known to have ended conflicts with it.

        Args:
            record: Record of the new job.
            clashes: Whether an existing job conflicts with the new one.

        Returns:
            The conflicting job; None if the new job was added.

        Raises:
            NotFound: The job that the new one resumes was deleted meanwhile.
            Conflict: A job that another version wrote, and that may still run, uses the same checkpoints.
        """

        def add(base: sqlite3.Connection) -> JobRecord | None:
            parent = record.parent
            if (
                parent is not None
                and not base.execute("SELECT 1 FROM jobs WHERE id = ?", (parent,)).fetchone()
            ):
                raise NotFound(
                    f'There is no job "{parent}".', "The job was deleted in the meantime.", code="no_job"
                )
            others = self._unended(base, ENDED)
            read = {record_of_other.id for record_of_other in others}
            for key, name, folder in _checkpoints(base, f"WHERE ended != {ENDED}"):
                if folder == record.checkpoints != "" and key not in {*read, record.id}:
                    raise Conflict(
                        f"{name} ({key}), written by another version of dtrain-lab, may use its checkpoints.",
                        "Look at it with that version, and cancel it.",
                        code="checkpoints_used",
                    )
            other = next((record_of_other for record_of_other in others if clashes(record_of_other)), None)
            if other is None:
                _put(base, record)
            return other

        return self._file.write(add)

    def change(self, identity: str, **changes: Any) -> JobRecord:
        """Change fields of a record, keeping concurrent changes of other fields.

        Args:
            identity: Id of the job.
            **changes: New values of the record's fields.

        Returns:
            The changed record.

        Raises:
            NotFound: There is no such job.
        """

        def change(base: sqlite3.Connection) -> JobRecord:
            row = base.execute("SELECT record FROM jobs WHERE id = ?", (identity,)).fetchone()
            if row is None:
                raise NotFound(
                    f'There is no job "{identity}".', "The job was deleted in the meantime.", code="no_job"
                )
            fields = msgspec.json.decode(row[0]) | msgspec.to_builtins(changes)
            data = msgspec.json.encode(fields)
            base.execute("UPDATE jobs SET record = ?, ended = ? WHERE id = ?", (data, ACTIVE, identity))
            return _record(identity, data)

        return self._file.write(change)

    def save_state(self, record: JobRecord, job: Job) -> None:
        """Save a job's last seen state, unless its record has changed since: then it must be read again."""
        ended = LOST if job.state == "lost" else ENDED if is_final(job) else ACTIVE
        data = msgspec.json.encode(job)
        row = self._file.read(
            lambda base: base.execute(
                "SELECT record, seen, ended FROM jobs WHERE id = ?", (record.id,)
            ).fetchone()
        )
        if row is None or (row[1] == data and row[2] == ended) or _record(record.id, row[0]) != record:
            return
        self._file.write(
            lambda base: base.execute(
                "UPDATE jobs SET seen = ?, ended = ? WHERE id = ? AND record = ?",
                (data, ended, record.id, row[0]),
            ),
            durable=False,
        )

    def remove(self, identity: str) -> None:
        """Remove a job."""
        self._file.write(lambda base: base.execute("DELETE FROM jobs WHERE id = ?", (identity,)))

    def take_out(
        self, identity: str, folder: str, besides: Collection[str] = ()
    ) -> tuple[Row | None, list[tuple[str, str]]]:
        """Remove a job, unless other jobs have their checkpoints in its folder.

        Args:
            identity: Id of the job.
            folder: Folder of its checkpoints.
            besides: Ids of other jobs that need nothing there.

        Returns:
            The removed row, for `put_back` if the folder can't be removed; and id and name of those other
            jobs, in which case nothing was removed.
        """

        def take_out(base: sqlite3.Connection) -> tuple[Row | None, list[tuple[str, str]]]:
            free = {identity, *besides}
            users = [(key, name) for key, name, at in _checkpoints(base) if at == folder and key not in free]
            if users:
                return None, users
            row = base.execute(
                f"SELECT {', '.join(Row._fields)} FROM jobs WHERE id = ?", (identity,)
            ).fetchone()
            base.execute("DELETE FROM jobs WHERE id = ?", (identity,))
            return (None if row is None else Row(*row)), []

        return self._file.write(take_out)

    def put_back(self, row: Row) -> None:
        """Undo `take_out`."""
        names, marks = ", ".join(Row._fields), ", ".join("?" * len(row))
        self._file.write(
            lambda base: base.execute(f"INSERT OR IGNORE INTO jobs ({names}) VALUES ({marks})", row)
        )

    # ---- read

    def active(self) -> list[JobRecord]:
        """Return jobs that are not known to have ended, oldest first, without lost ones."""
        return self._file.read(lambda base: self._unended(base, ENDED, LOST))

    def lost(self) -> list[JobRecord]:
        """Return jobs that were last seen as lost, oldest first."""
        return self._file.read(lambda base: self._unended(base, ENDED, ACTIVE))

    def last_states(self, most: int = 1000) -> list[Job]:
        """Return jobs in their last seen state, newest first."""
        rows = self._file.read(
            lambda base: base.execute(
                "SELECT id, seen FROM jobs WHERE seen IS NOT NULL ORDER BY created_at DESC LIMIT ?", (most,)
            ).fetchall()
        )
        return [job for key, data in rows if (job := self._decoded(key, data, Job)) is not None]

    def find(self, name: str) -> tuple[JobRecord, Job | None] | None:
        """Find a job by its id, a prefix of its id, or its name (the newest of that name).

        Returns:
            The job's record, and its state as last seen, if it was; None if there is no such job.

        Raises:
            WireMismatch: This version can't read the job.
        """
        row = self._file.read(
            lambda base: base.execute(
                "SELECT id, record, seen FROM jobs WHERE id = :name OR name = :name OR (length(:name) > 3 "
                "AND substr(id, 1, length(:name)) = :name) ORDER BY id = :name DESC, created_at DESC LIMIT 1",
                {"name": name},
            ).fetchone()
        )
        if row is None:
            return None
        return _record(row[0], row[1]), None if row[2] is None else self._decoded(row[0], row[2], Job)

    def data(self, identity: str) -> bytes | None:
        """Return a record's JSON, including fields of other versions; None if there is no such job."""
        row = self._file.read(
            lambda base: base.execute("SELECT record FROM jobs WHERE id = ?", (identity,)).fetchone()
        )
        return None if row is None else bytes(row[0])

    def ids(self) -> set[str]:
        """Return the ids of all jobs, including those that this version can't read."""
        return {
            row[0] for row in self._file.read(lambda base: base.execute("SELECT id FROM jobs").fetchall())
        }

    def checkpoints(self) -> dict[str, str]:
        """Return each job's checkpoint folder, including jobs that this version can't read."""
        return self._file.read(lambda base: {key: folder for key, _, folder in _checkpoints(base)})

    # ----

    def _unended(self, base: sqlite3.Connection, *but: int) -> list[JobRecord]:
        rows = base.execute(
            f"SELECT id, record, ended FROM jobs WHERE ended != {ENDED} ORDER BY created_at"
        ).fetchall()
        records = (self._decoded(key, data, JobRecord) for key, data, ended in rows if ended not in but)
        return [record for record in records if record is not None]

    def _decoded(self, identity: str, data: bytes, kind: type[T]) -> T | None:
        try:
            return lenient.decode(data, kind)
        except msgspec.DecodeError as error:
            if identity not in self._reported:
                self._reported.add(identity)
                log.warning("job %s was written by another version: %s", identity, error)
            return None


def _record(identity: str, data: bytes) -> JobRecord:
    try:
        return lenient.decode(data, JobRecord)
    except msgspec.DecodeError as error:
        raise WireMismatch(
            f"The job {identity} was written by another version of dtrain-lab: {error}.",
            "Use that version, or update this one.",
        ) from error


def _checkpoints(base: sqlite3.Connection, which: str = "") -> list[tuple[str, str, str]]:
    """Return id, name and checkpoint folder of jobs, including those that can't be read."""
    text = "CAST(record AS TEXT)"
    folder = f"CASE WHEN json_valid({text}) THEN json_extract({text}, '$.checkpoints') END"
    rows = base.execute(f"SELECT id, name, {folder} FROM jobs {which}").fetchall()
    return [(str(key), str(name), str(at or "")) for key, name, at in rows]


def _put(base: sqlite3.Connection, record: JobRecord, data: bytes | None = None) -> int:
    return base.execute(
        "INSERT INTO jobs (id, name, created_at, record) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (id) DO UPDATE SET record = excluded.record",
        (record.id, record.name, record.created_at, data or msgspec.json.encode(record)),
    ).rowcount
