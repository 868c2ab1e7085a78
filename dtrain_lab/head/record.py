"""The head's record: written when it can be reached, removed when it ends."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import msgspec
import psutil

from dtrain_lab.core.record import HeadRecord
from dtrain_lab.core.wire import VERSION
from dtrain_lab.head.settings import Settings
from dtrain_lab.machine import processes


def write(settings: Settings, name: str, created_at: float, *, warm: bool) -> None:
    """Say where this head is found. Readers see the old record or the new one, never half of it."""
    record = HeadRecord(
        id=settings.id,
        name=name,
        host=socket.gethostname(),
        boot=boot_id(),
        pid=os.getpid(),
        started=processes.started(),
        socket=os.path.join(settings.directory, "door"),
        directory=settings.directory,
        environment=settings.environment,
        warm=warm,
        created_at=created_at,
        version=VERSION,
        server=settings.server,
    )
    path = Path(settings.record)
    part = path.with_suffix(".part")
    part.touch(mode=0o600)
    part.write_bytes(msgspec.json.encode(record))
    part.rename(path)


def remove(settings: Settings) -> None:
    """This head can't be reached any more."""
    Path(settings.record).unlink(missing_ok=True)


def boot_id() -> str:
    """Tells one boot of this host from the next; records of an earlier one are stale."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except FileNotFoundError:
        return str(psutil.boot_time())
