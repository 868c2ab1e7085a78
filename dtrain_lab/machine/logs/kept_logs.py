"""Copies of the logs of failed processes, which outlive the folders in which these have written."""

from __future__ import annotations

import shutil
from pathlib import Path

from dtrain_lab.machine.folders import private

MOST_KEPT = 20
"""Maximum number of logs of failed processes that are kept."""
SUFFIX = ".failed.log"


def path_of(folder: Path, name: str) -> Path:
    """Return the path of a copy.

    Args:
        folder: Folder of the copies.
        name: Name of the copy, without its ending.
    """
    return folder / f"{name}{SUFFIX}"


def keep_log(source: Path, folder: Path, name: str) -> Path | None:
    """Copy a log, and remove the oldest copies beyond `MOST_KEPT`.

    Args:
        source: The log.
        folder: Folder of the copies, which is created.
        name: Name of the copy, without its ending.

    Returns:
        The copy; None if the log is empty.

    Raises:
        OSError: It can't be read, or the copy can't be written.
    """
    if not source.stat().st_size:
        return None
    copy = shutil.copyfile(source, path_of(private(folder), name))
    _remove_oldest(folder)
    return copy


def _remove_oldest(folder: Path) -> None:
    copied_at: dict[Path, float] = {}
    for copy in folder.glob(f"*{SUFFIX}"):
        try:
            copied_at[copy] = copy.stat().st_mtime
        except FileNotFoundError:  # another process removes the oldest, too
            continue
    for old in sorted(copied_at, key=copied_at.__getitem__)[:-MOST_KEPT]:
        old.unlink(missing_ok=True)
