"""Paths: records, profiles and logs in Jupyter's folders; sockets under a short node-local path."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from pathlib import Path

from jupyter_core.paths import jupyter_config_dir, jupyter_runtime_dir

from dtrain_lab.errors import StartFailed
from dtrain_lab.machine.folders import LONGEST, RUNTIME_VARIABLE, private, sockets

__all__ = [
    "check_writable",
    "folder_or_home",
    "logs",
    "not_writable",
    "private",
    "profiles",
    "records",
    "sockets",
]
ELSEWHERE = f"Free some space there, or set {RUNTIME_VARIABLE} to a folder on another disk."
NEEDED = 2 << 20
"""Free bytes that a head needs to start: its sockets, its logs and ipyparallel's files."""
RECORD = 16 << 10
"""Bytes of a head's record, at most."""


def profiles() -> Path:
    """Folder of the profiles' TOML files."""
    return Path(jupyter_config_dir()) / "dtrain-lab" / "profiles"


def logs() -> Path:
    """Folder of the logs of servers, kernels and programs; only this user can enter it."""
    return private(records() / "logs")


def records() -> Path:
    """Folder of the records of running heads; only this user can enter it."""
    return private(Path(jupyter_runtime_dir()) / "dtrain-lab")


def folder_or_home(path: str) -> str:
    """Return a path if it is a folder, else the user's home."""
    return path if Path(path).is_dir() else str(Path.home())


def check_writable() -> None:
    """Check that a head can write its folder, so that nothing is started that would fail half-way.

    Raises:
        StartFailed: The disk is full or read-only, or the path is too long.
    """
    try:
        folder = sockets()
        free = shutil.disk_usage(folder).free
        parent = records()
    except OSError as error:
        raise not_writable(Path(error.filename or tempfile.gettempdir()), error) from error
    if free < NEEDED:
        raise _full(folder)
    if (long := len(os.fsencode(folder))) > LONGEST:
        raise StartFailed(
            f"{folder} is too long a path for a cluster's sockets: {long} of {LONGEST} bytes.",
            f"Set {RUNTIME_VARIABLE} to a shorter one.",
            code="long_path",
        )
    try:
        with tempfile.TemporaryFile(dir=parent, buffering=0) as file:
            file.write(bytes(RECORD))
    except OSError as error:
        raise StartFailed(
            f"{parent} can't be written: {error.strerror}. A cluster is found by its record there.",
            "Free some space there, or set JUPYTER_RUNTIME_DIR to another folder.",
            code="no_record",
        ) from error


def not_writable(folder: Path, error: OSError) -> StartFailed:
    """Return the error of a head whose folder, in this one, can't be written.

    Args:
        folder: Folder of the records, or of temporary files.
        error: The operating system's error.
    """
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _full(folder)
    return StartFailed(f"{error.filename or folder} can't be written: {error.strerror}.", ELSEWHERE)


def _full(folder: Path) -> StartFailed:
    message = f"The disk of {folder}, where clusters write their logs, is full."
    return StartFailed(message, ELSEWHERE, code="disk_full")
