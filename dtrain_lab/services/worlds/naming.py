"""Names of clusters that start: no two clusters of a user on one machine share one, nor do two starts."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from dtrain_lab.errors import Conflict
from dtrain_lab.machine import atomic_files, processes
from dtrain_lab.services import names, paths
from dtrain_lab.services.connection import head_records
from dtrain_lab.text import rank_names
from dtrain_lab.wire.processes.head_record import HeadRecord

ALONE_WITHIN_S = 1.0
"""Time to wait for other starts, which choose a name within milliseconds."""
POLL_S = 0.01


class Reservation(msgspec.Struct, frozen=True):
    """A name that a process is starting a cluster under, until the cluster's record has it."""

    name: str
    pid: int
    started: float
    system: str


class Taken(Exception):
    """The requested name is in use.

    Args:
        name: The name.
        record: The cluster that has it; None while that cluster is starting.
    """

    def __init__(self, name: str, record: HeadRecord | None) -> None:
        super().__init__(name)
        self.name, self.record = name, record

    def error(self, has: int | None, asked: int, *, terminal: bool) -> Conflict:
        """Return the error for the user.

        Args:
            has: Number of ranks of the cluster that has the name, if known.
            asked: Number of ranks of the new one.
            terminal: Whether the message is for a terminal, which can't attach to a cluster, or resize it.
        """
        name = self.name
        text = f'A cluster "{name}" is {"running" if self.record is not None else "starting"}.'
        hint = f"Choose another name, attach to it (%distributed attach {name}), or stop it."
        if has is not None and has != asked:
            text = f"{text} It has {rank_names.count(has)}; the new one would have {asked}."
            attach, resize = f"%distributed attach {name}", f"%distributed resize {asked}"
            hint = (
                f"Attach to it: {attach}; then change its size: {resize}. Or stop it, or choose another name."
            )
        if terminal:
            hint = f"Choose another name, or stop it: dtrain-lab cluster stop {name}"
        return Conflict(text, hint, code="name_in_use")


@contextlib.contextmanager
def reserved(wanted: str | None, usual: str) -> Iterator[str]:
    """Reserve the name of a new cluster while the block starts it.

    Args:
        wanted: The requested name; None for the default one, with a number if necessary.
        usual: The default name.

    Raises:
        BadRequest: The wanted name can't be a name.
        StartFailed: The disk of the records is full or read-only.
        Taken: A cluster has it, or starts under it.
    """
    try:
        name, path = _reserve(wanted, usual)
    except OSError as error:
        raise paths.not_writable(paths.records(), error) from error
    try:
        yield name
    finally:
        path.unlink(missing_ok=True)


def _reserve(wanted: str | None, usual: str) -> tuple[str, Path]:
    """Return the name, and the file that reserves it."""
    folder = paths.records()
    with _alone(folder / "names.lock"):
        running = {r.name: r for r in head_records.living() if not r.warm}
        starting = {r.name for r in _reservations(folder)}
        name, number = names.check(wanted) if wanted is not None else usual, 2
        while name in running or name in starting:
            if wanted is not None:
                raise Taken(name, running.get(name))
            name, number = f"{usual}-{number}", number + 1
        path = folder / f"{secrets.token_hex(6)}.name"
        reservation = Reservation(name, os.getpid(), processes.started(), processes.system())
        atomic_files.swap(path, msgspec.json.encode(reservation))
        return name, path


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other starts out while the block runs.

    Where that is impossible, as on a file system without locks or beside a process that was stopped in here,
    it runs nevertheless: two clusters with one name are better than none.
    """
    with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "w") as file:
        until = time.monotonic() + ALONE_WITHIN_S
        while time.monotonic() < until:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(POLL_S)
            except OSError:
                break
            else:
                break
        yield


def _reservations(folder: Path) -> Sequence[Reservation]:
    """Return reservations of this machine's living processes; those of ended ones are removed."""
    reservations = []
    for path in folder.glob("*.name"):
        try:
            reservation = msgspec.json.decode(path.read_bytes(), type=Reservation)
        except (OSError, msgspec.DecodeError):  # released meanwhile, or another version's
            continue
        if not processes.is_here(reservation.system):  # of another host that shares the home
            continue
        if processes.same(reservation.pid, reservation.started) is not None:
            reservations.append(reservation)
        else:
            path.unlink(missing_ok=True)
    return reservations
