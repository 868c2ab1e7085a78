"""A sweep's folder: `sweep.json`, the requests of clients, the notebook, and the lock of the driver."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from dtrain_lab.errors import DtrainError, Unreachable, WireMismatch
from dtrain_lab.machine import atomic_files
from dtrain_lab.services.index.sweep_names import RECORD, SweepIdentity, all_of, identify
from dtrain_lab.wire.codec import lenient
from dtrain_lab.wire.sweeps import Asked, SweepRecord, Wish

ASKED, LOCK, CODE, LOG = "asked.json", "lock", "code", "driver.log"
TAKE_EVERY_S = 0.05


def read(folder: Path) -> SweepRecord:
    """Read a sweep's record.

    Raises:
        WireMismatch: Another version wrote it.
        Unreachable: It can't be read.
    """
    try:
        data = (folder / RECORD).read_bytes()
        try:
            return lenient.decode(data, SweepRecord)
        except msgspec.ValidationError:
            return lenient.decode(_with_summaries(data), SweepRecord)
    except msgspec.ValidationError as error:
        raise WireMismatch(
            f"The sweep {folder.name} was written by another version of dtrain-lab: {error}.",
            f"Use that version, update this one, or delete {folder}: the jobs of its trials stay.",
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unreachable(
            f"The record of the sweep {folder.name} is damaged: {error}.",
            f"Restore {folder / RECORD}, or delete {folder}: the jobs of its trials stay.",
            code="damaged_sweep",
        ) from error
    except OSError as error:
        raise Unreachable(f"{folder / RECORD} can't be read: {error.strerror}.", "Is it there?") from error


def write(folder: Path, record: SweepRecord, *, safely: bool = True) -> None:
    """Replace a sweep's record atomically.

    Args:
        folder: The sweep's folder.
        record: The new record.
        safely: Wait until it is on disk.

    Raises:
        Unreachable: It can't be written; the old one is still there.
    """
    put = atomic_files.replace if safely else atomic_files.swap
    try:
        put(folder / RECORD, msgspec.json.encode(record))
    except OSError as error:
        raise Unreachable(
            f"{folder / RECORD} can't be written: {error.strerror}.", "Free some space there."
        ) from error


def asked(folder: Path) -> Asked:
    """Return the requests of clients for a sweep."""
    try:
        return msgspec.json.decode((folder / ASKED).read_bytes(), type=Asked)
    except FileNotFoundError:
        return Asked(0, "run")


def ask(folder: Path, wish: Wish) -> Asked:
    """Write a client's request for a sweep.

    Args:
        folder: The sweep's folder.
        wish: "run", to continue the sweep, or "stop".

    Returns:
        The request with its number, one above that of the last request.
    """
    with atomic_files.locked(folder / f"{ASKED}.lock"):
        request = Asked(asked(folder).number + 1, wish)
        atomic_files.replace(folder / ASKED, msgspec.json.encode(request))
    return request


def take(folder: Path, within_s: float = 0.0) -> int | None:
    """Take the lock of a sweep's driver.

    Args:
        folder: The sweep's folder.
        within_s: Maximum time to wait for it, in seconds.

    Returns:
        A descriptor that holds the lock until it is closed; None if another process holds it.
    """
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    until = time.monotonic() + within_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except BlockingIOError:
            if time.monotonic() >= until:
                os.close(descriptor)
                return None
        time.sleep(TAKE_EVERY_S)


def is_driven(folder: Path) -> bool:
    """Whether a driver holds a sweep's lock."""
    descriptor = take(folder)
    if descriptor is None:
        return True
    os.close(descriptor)
    return False


def readable() -> Iterator[tuple[Path, SweepRecord]]:
    """Yield all sweeps that this version can read."""
    for folder in all_of():
        try:
            yield folder, read(folder)
        except DtrainError:
            continue


def unreadable() -> list[tuple[SweepIdentity, DtrainError]]:
    """Return the sweeps whose records can't be read, and why."""
    sweeps: list[tuple[SweepIdentity, DtrainError]] = []
    for folder in all_of():
        try:
            read(folder)
        except DtrainError as error:
            sweeps.append((identify(folder), error))
    return sweeps


# ----


def _with_summaries(data: bytes) -> bytes:
    """Convert an older record to the current format: reasons of its trials were sentences without a code."""
    record: Any = msgspec.json.decode(data)
    for trial in record.get("trials", ()) if isinstance(record, dict) else ():
        if isinstance(trial, dict) and isinstance(trial.get("reason"), str):
            trial["reason"] = {"code": "", "values": {}, "text": trial["reason"]}
    return msgspec.json.encode(record)
