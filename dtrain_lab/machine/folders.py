"""Our private folders on this machine: the heads', that of the slots' tickets."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from dtrain_lab.errors import Forbidden

RUNTIME_VARIABLE = "DTRAIN_LAB_RUNTIME_DIR"
SOCKET_PATH = 107
"""Maximum bytes of a unix socket's path."""
LONGEST = SOCKET_PATH - len("/0123456789ab/client.s")
"""Maximum bytes of the path of the heads' folders: a cluster's folder and socket are below it."""
SPARE = 23
"""Bytes reserved below the default temporary folder: a job's folder, for example, has a longer name."""
LONGEST_BASE = LONGEST - len("/dtrain-lab-4294967295") - SPARE
"""Maximum bytes of the path of such a temporary folder, which has a folder per user; else /tmp is used."""


def sockets() -> Path:
    """Parent of the heads' folders: node-local, and short because of unix sockets (`SOCKET_PATH`)."""
    return _ours(tempfile.gettempdir() if len(tempfile.gettempdir()) < LONGEST_BASE else "/tmp")


def slots_folder() -> Path:
    """Folder of the tickets for this machine's slots: the same for every session, whatever its TMPDIR."""
    return private(_ours("/tmp") / "slots")


def _ours(base: str) -> Path:
    # not XDG_RUNTIME_DIR: it is removed at logout, and worlds run for days
    return private(Path(os.environ.get(RUNTIME_VARIABLE) or base) / f"dtrain-lab-{os.getuid()}")


def private(path: Path) -> Path:
    """A folder that only this user can enter; created if it does not exist.

    Raises:
        Forbidden: The path is a link or belongs to another user.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        pass
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise Forbidden(
            f"{path} is not a folder of yours.",
            "Remove it, or set DTRAIN_LAB_RUNTIME_DIR to a folder of yours.",
        )
    if status.st_mode & 0o077:
        path.chmod(0o700)
    return path
