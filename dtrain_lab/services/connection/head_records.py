"""Records of running heads: read, checked against the processes they name, and cleaned up."""

from __future__ import annotations

import logging
import shutil
import signal
import socket
from pathlib import Path

import msgspec

from dtrain_lab.machine import atomic_files, processes
from dtrain_lab.services import endings, paths
from dtrain_lab.wire.endings import Ending
from dtrain_lab.wire.processes.head_record import HeadRecord

log = logging.getLogger("dtrain_lab.records")
GONE_WITHIN_S = 5.0
"""Time in which a killed head ends."""


def path_of(identity: str) -> Path:
    """Return the path of a head's record."""
    return paths.records() / f"{identity}.json"


def living() -> list[HeadRecord]:
    """Return the records of running heads, oldest first; files left by killed heads are removed."""
    records = []
    for path in paths.records().glob("*.json"):
        try:
            record = _living(path)
        except OSError as error:  # an unreadable record must not hide the others
            log.warning("%s: %s", path.name, error.strerror)
            continue
        if record is not None:
            records.append(record)
    return sorted(records, key=lambda r: r.created_at)


def _living(path: Path) -> HeadRecord | None:
    record = _read(path)
    if record is None or record.remote is not None:  # its back-end knows whether it runs
        return record
    if not _is_here(record):
        return None
    if not _was_killed(record):
        return record
    endings.note_killed(record)
    path.unlink(missing_ok=True)
    shutil.rmtree(record.directory, ignore_errors=True)
    return None


def _is_here(record: HeadRecord) -> bool:
    """Whether a head runs here: the home may be shared by hosts or containers."""
    return record.host == socket.gethostname() and processes.is_here(record.system)


def _was_killed(record: HeadRecord) -> bool:
    """Whether the process of a head of this machine is gone: one that ends by itself removes its record."""
    if record.remote is not None or not _is_here(record):
        return False
    return processes.same(record.pid, record.started) is None


def clean_up_killed(identity: str) -> None:
    """Note the end of a head that was killed, keep its log, and remove its record and its folder.

    This may take long, as the folder may be large. It does nothing for a head that runs, or that has ended by
    itself.
    """
    try:
        _living(path_of(identity))
    except OSError as error:  # `living` tries again
        log.warning("%s: %s", identity, error.strerror)


def ending_of(identity: str) -> Ending | None:
    """Return how a cluster whose head is gone has ended; None if that is not known. It changes nothing."""
    if (noted := endings.of(identity)) is not None:
        return noted
    record = _read(path_of(identity))
    killed = endings.of_killed(record) if record is not None and _was_killed(record) else None
    # another process may have noted the end in between, and removed the record
    return endings.of(identity) or killed


def read(identity: str) -> HeadRecord | None:
    """Return a head's current record; None if it is gone."""
    return _read(path_of(identity))


def write(record: HeadRecord) -> None:
    """Write the record of a world whose head runs elsewhere, atomically."""
    atomic_files.swap(path_of(record.id), msgspec.json.encode(record))


def forget(identity: str) -> None:
    """Remove the record of a world that has ended."""
    path_of(identity).unlink(missing_ok=True)


def _read(path: Path) -> HeadRecord | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=HeadRecord)
    except FileNotFoundError:  # removed meanwhile
        return None
    except msgspec.DecodeError as error:
        log.warning("%s can't be read, perhaps another version wrote it: %s", path.name, error)
        return None


def kill(record: HeadRecord) -> bool:
    """Kill a head of this machine that does not answer; its agents end all that is below it.

    Returns:
        Whether it was killed; False if it has ended, or runs on another machine.
    """
    if not processes.is_here(record.system):
        return False
    if not processes.signal_process(record.pid, record.started, signal.SIGKILL):
        return False
    return processes.gone(record.pid, record.started, GONE_WITHIN_S)
