"""The head's record file: written once clients can connect, removed when the head ends."""

from __future__ import annotations

import logging
import os
import socket
from pathlib import Path

import msgspec

from dtrain_lab.machine import atomic_files, processes
from dtrain_lab.wire import VERSION
from dtrain_lab.wire.endings import SUFFIX, Ending
from dtrain_lab.wire.processes.head_record import HeadRecord, Server
from dtrain_lab.wire.processes.settings import HeadSettings

log = logging.getLogger("dtrain_lab.head")


def write(settings: HeadSettings, name: str, created_at: float, *, warm: bool, server: Server) -> None:
    """Publish where this head is found. Readers see the old record or the new one, never half of it.

    Args:
        settings: Settings of the head.
        name: Name of the world.
        created_at: When the world was created, seconds since 1970.
        warm: Whether the head has no world yet.
        server: The Jupyter server whose client started it or its world, if any.
    """
    record = HeadRecord(
        id=settings.id,
        name=name,
        host=socket.gethostname(),
        system=processes.system(),
        pid=os.getpid(),
        started=processes.started(),
        socket=os.path.join(settings.directory, "client"),
        directory=settings.directory,
        environment=settings.environment,
        warm=warm,
        created_at=created_at,
        version=VERSION,
        server=server.pid,
        server_started=server.started,
    )
    atomic_files.swap(Path(settings.record), msgspec.json.encode(record))


def note_end(settings: HeadSettings, ending: Ending) -> None:
    """Note that the world ends with its Jupyter server: a page of the next server asks how it ended.

    Args:
        settings: Settings of the head.
        ending: How the world ends.
    """
    try:
        atomic_files.swap(Path(settings.record).with_suffix(SUFFIX), msgspec.json.encode(ending))
    except OSError as error:
        log.warning("could not note that this cluster ends with its server: %s", error)


def remove(settings: HeadSettings) -> None:
    """Remove the record: this head can't be reached any more."""
    Path(settings.record).unlink(missing_ok=True)
