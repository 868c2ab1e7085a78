"""Files shared by several processes: replaced atomically, synced to disk on request, locked."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


def replace(path: Path, data: bytes) -> None:
    """Replace a file atomically and durably: readers see the old or the new one, even after a power cut.

    Args:
        path: The file; its folder exists.
        data: The new content.

    Raises:
        OSError: The file can't be written; the old one is still there.
    """
    swap(path, data, durable=True)
    sync_folder(path.parent)


def swap(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Replace a file atomically, mode 0600: readers see the old or the new one, never half of it.

    Of several threads or processes that replace a file at once, the last one wins, whole.

    Args:
        path: Path of the file.
        data: New content.
        durable: Wait until the content is on disk.

    Raises:
        OSError: The file can't be written; the old one is still there.
    """
    descriptor, name = tempfile.mkstemp(".part", f".{path.name}.", path.parent)
    part = Path(name)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        part.rename(path)
    except BaseException:  # such as an interrupt of a kernel
        with contextlib.suppress(OSError):
            part.unlink()
        raise


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file, which is created if necessary, while the block runs."""
    with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def publish(hidden: Path, target: Path) -> None:
    """Give a complete, synced file its name: readers see the old or the new file, never half of it.

    Args:
        hidden: Path of the file, in the folder of `target`.
        target: Its new path; an older file there is replaced.
    """
    hidden.rename(target)
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Sync a folder's entries to disk; ignored on file systems without support (some network ones)."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        return
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Sync all files below a folder to disk.

    Raises:
        OSError: A file can't be synced; its content may be lost.
    """
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                descriptor = os.open(os.path.join(place, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            except FileNotFoundError:  # removed meanwhile
                continue
            except OSError:  # a link, or not ours to open: not written by this rank
                continue
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        sync_folder(Path(place))
