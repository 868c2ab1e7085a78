"""Records of running heads: read, checked against the processes that they name, and cleaned up."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import msgspec

from dtrain_lab.core.record import HeadRecord
from dtrain_lab.machine import processes
from dtrain_lab.services import folders


def path_of(identity: str) -> Path:
    """File of a head's record."""
    return folders.records() / f"{identity}.json"


def living() -> list[HeadRecord]:
    """Records of heads that run, oldest first. What a head that was killed left behind is removed."""
    found = []
    for path in folders.records().glob("*.json"):
        record = _read(path)
        if record is None:
            continue
        if record.remote is not None:  # whether it runs is asked of its back-end
            found.append(record)
            continue
        if record.host != socket.gethostname():
            continue  # a home shared by several hosts: that head is found there
        if processes.same(record.pid, record.started) is not None:
            found.append(record)
        else:
            path.unlink(missing_ok=True)
            shutil.rmtree(record.directory, ignore_errors=True)
    return sorted(found, key=lambda r: r.created_at)


def read(identity: str) -> HeadRecord | None:
    """A head's record as it is now; None where it is gone."""
    return _read(path_of(identity))


def write(record: HeadRecord) -> None:
    """Note a world whose head runs elsewhere. Readers see the old record or the new one, never half of it."""
    path = path_of(record.id)
    part = path.with_suffix(f".{os.getpid()}.part")  # doors may learn the same at the same time
    part.touch(mode=0o600)  # it holds the world's keys
    part.write_bytes(msgspec.json.encode(record))
    part.rename(path)


def forget(identity: str) -> None:
    """A world is over."""
    path_of(identity).unlink(missing_ok=True)


def _read(path: Path) -> HeadRecord | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=HeadRecord)
    except (FileNotFoundError, msgspec.DecodeError):  # removed meanwhile, or of another version
        return None
