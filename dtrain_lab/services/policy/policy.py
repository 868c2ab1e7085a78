"""The administrator's policy: set by the server, read from a file by its kernels and terminals.

The file is named by the server's pid, and a process finds it through the pids of its ancestors. So a changed
limit reaches processes that were started before the change, and no environment variable is needed.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil

from dtrain_lab.errors import Forbidden
from dtrain_lab.machine import atomic_files, jupyter_variables, processes
from dtrain_lab.services import paths
from dtrain_lab.wire.codec import lenient
from dtrain_lab.wire.processes.settings import Policy, ServerSettings

log = logging.getLogger(__name__)
_own: dict[int, ServerSettings] = {}
"""Settings of this process (by pid, so that a fork has none), if it is a server.

They are kept here, and not only in the file: a server's limits hold even if somebody removes its file.
"""


def current() -> Policy:
    """Return this process's policy; without a server among its ancestors, nothing is limited."""
    return of_server().policy


def of_server() -> ServerSettings:
    """Return the administrator's settings of the server that this process is or descends from.

    Raises:
        Forbidden: A server's file exists but can't be read, so that its limits are unknown.
    """
    if os.getpid() in _own:
        return _own[os.getpid()]
    for pid in _above():
        settings = published_by(pid)
        if settings is not None:
            return settings
    return ServerSettings()


def published_by(pid: int) -> ServerSettings | None:
    """Return the settings that a server has published; None if there is no such server.

    Raises:
        Forbidden: Its file can't be read.
    """
    path = _file(pid)
    try:
        settings = lenient.decode(path.read_bytes(), ServerSettings)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        log.warning("%s: %s", path, error)
        raise Forbidden(
            "The limits of this Jupyter server can't be read.", "Restart the Jupyter server."
        ) from error
    if processes.same(pid, settings.started) is not None:
        return settings
    path.unlink(missing_ok=True)  # left by a server that has ended
    return None


def publish(settings: ServerSettings) -> None:
    """Publish settings for this server and for all its descendants."""
    settings = msgspec.structs.replace(settings, started=processes.started())
    _own[os.getpid()] = settings
    atomic_files.replace(_file(os.getpid()), msgspec.json.encode(settings))


def apply(settings: ServerSettings) -> None:
    """Apply a server's settings to this process, which outlives that server."""
    _own[os.getpid()] = settings


def forget() -> None:
    """Remove this server's settings at its end."""
    _own.pop(os.getpid(), None)
    _file(os.getpid()).unlink(missing_ok=True)


def _file(pid: int) -> Path:
    # if hosts or containers share the home, servers on several of them may have the same pid
    system = hashlib.sha256(processes.system().encode()).hexdigest()[:12]
    return paths.private(paths.records() / "servers") / f"{system}-{pid}.json"


def _above() -> Iterator[int]:
    named = jupyter_variables.server()
    if named is not None:
        yield named
    try:
        yield from (process.pid for process in psutil.Process().parents())
    except psutil.Error:  # an ancestor has just ended
        return
