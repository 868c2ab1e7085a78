"""Stages a job's data on a node's own disk: `python -m dtrain_lab.node stage FOLDER PLACE NODE`.

NODE is its index, or the variable that has it; then the copy is at PLACE.NODE. It prints a line once the copy
is complete. The copy is removed once no process reads its stdout (the job's script and that script's
children), on SIGUSR1, or some time after SIGTERM, because ranks that are being ended may still read the data.
A copy whose keeper was killed is removed by the next keeper on this node.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import signal
import socket
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.jobs.staging import INDEX, names
from dtrain_lab.machine import atomic_files
from dtrain_lab.node import task_number
from dtrain_lab.text.units import size_text
from dtrain_lab.wire.cluster import Reason
from dtrain_lab.wire.codec import lenient
from dtrain_lab.wire.jobs.folder import Staging
from dtrain_lab.wire.jobs.job import JobRecord

PIECE = 16 << 20
REPORT_S = 1.0
POLL_S = 0.2
USABLE_SHARE = 0.95
"""Usable share of the free space; the rest is left to others."""
GRACE_S = 10.0
LOCK = ".lock"


class StagingFailed(Exception):
    """The data can't be copied; arguments: message and hint."""


class Cut(Exception):
    """The job ended during the copy."""


def sources(record: JobRecord) -> dict[str, Path]:
    """Paths of the data to copy, by its name in the copy.

    Raises:
        StagingFailed: A path does not exist.
    """
    paths = {}
    for name, path in names(record.request.stage).items():
        paths[name] = Path(path).expanduser()
        if not paths[name].exists():
            raise StagingFailed(f"There is no {path} on {_host()}.", "Name data that every node can read.")
    return paths


def files(source: Path) -> Iterator[tuple[Path, Path]]:
    """All regular files of a file or folder, with relative paths; links are followed, each folder once."""
    if source.is_file():
        yield source, Path()
        return
    visited: set[tuple[int, int]] = set()
    for folder, below, file_names in os.walk(source, followlinks=True):
        there = os.stat(folder)
        if (there.st_dev, there.st_ino) in visited:
            below.clear()
            continue
        visited.add((there.st_dev, there.st_ino))
        for name in file_names:
            path = Path(folder, name)
            if path.is_file():
                yield path, path.relative_to(source)


def private(folder: Path) -> Path:
    """A folder that only this user can read; made if needed.

    Raises:
        StagingFailed: The folder belongs to another user or is open to others, or it can't be made.
    """
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        there = folder.lstat()
    except OSError as error:
        raise StagingFailed(
            f"{folder} can't be created on {_host()}: {error.strerror}.",
            "Set scratch in the profile to a folder on each node's own disk.",
        ) from error
    if not stat.S_ISDIR(there.st_mode) or there.st_uid != os.getuid() or there.st_mode & 0o077:
        raise StagingFailed(
            f"{folder} on {_host()} is not private to you.", "Set scratch in the profile to another folder."
        )
    return folder


def sweep(base: Path) -> None:
    """Remove copies that were left behind by a killed keeper."""
    for left in base.iterdir():
        try:
            lock = os.open(left / LOCK, os.O_RDONLY)
        except OSError:  # being made or removed
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)
        except BlockingIOError:
            continue
        finally:
            os.close(lock)


def claim(place: Path) -> tuple[int, Path]:
    """Make and lock a folder of our own, after removing copies that were left behind.

    Returns:
        The descriptor of the lock, and the folder.

    Raises:
        StagingFailed: The folder belongs to another user or is open to others, or it can't be made.
    """
    base = private(place.parent)
    alone = os.open(base, os.O_RDONLY)
    try:
        fcntl.flock(alone, fcntl.LOCK_EX)  # no other keeper sweeps before the new folder is locked
        sweep(base)
        private(place)
        lock = os.open(place / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
    finally:
        os.close(alone)
    return lock, place


def copy(
    paths: dict[str, Path], place: Path, on_progress: Callable[[int, int], None], ended: threading.Event
) -> None:
    """Copy the data with its timestamps; data that is on this disk already is linked instead.

    Args:
        paths: Name in the copy → path.
        place: Folder of the copy.
        on_progress: Called with the number of bytes copied so far, and the total.
        ended: Set when the copy is no longer needed.

    Raises:
        StagingFailed: There is too little free space.
        Cut: The copy is no longer needed.
        OSError: The data can't be read or written.
    """
    device = place.stat().st_dev
    far = {name: source for name, source in paths.items() if source.stat().st_dev != device}
    for name in paths.keys() - far.keys():
        (place / name).symlink_to(paths[name].absolute())
    wanted = [(path, place / name / below) for name, source in far.items() for path, below in files(source)]
    total = sum(path.stat().st_size for path, _ in wanted)
    free = shutil.disk_usage(place).free
    if total > free * USABLE_SHARE:
        raise StagingFailed(
            f"{_host()} has {size_text(free)} free in {place.parent}; the data to be copied there has "
            f"{size_text(total)}.",
            "Set scratch in the profile to a larger disk, or copy less.",
        )
    done = 0
    on_progress(done, total)
    for path, target in wanted:
        target.parent.mkdir(parents=True, exist_ok=True)
        with path.open("rb") as reading, target.open("wb") as writing:
            while sent := os.sendfile(writing.fileno(), reading.fileno(), None, PIECE):
                done += sent
                on_progress(done, total)
                if ended.is_set():
                    raise Cut
        shutil.copystat(path, target)


class Keeper:
    """Makes one copy, keeps it, and removes it.

    Args:
        record: The job's record.
        folder: The job's folder.
        place: Folder of the copy.
        node: Index of this node.
        grace_s: Seconds from SIGTERM to the copy's removal.
    """

    def __init__(self, record: JobRecord, folder: Path, place: Path, node: int, grace_s: float) -> None:
        self._record = record
        self._folder = folder
        self._place = place
        self._node = node
        self._grace_s = grace_s
        self._at = 0.0
        self.ended = threading.Event()
        """Set when the copy is no longer needed."""

    def end_soon(self) -> None:
        """The job is being ended: remove the copy after the grace period."""
        timer = threading.Timer(self._grace_s, self.ended.set)
        timer.daemon = True
        timer.start()

    def run(self) -> None:
        """Copy the data, print the folder, and keep the copy until it is no longer needed.

        Raises:
            StagingFailed: The data can't be copied.
        """
        by_name = sources(self._record)
        lock, place = claim(self._place)
        try:
            threading.Thread(target=self._watch, daemon=True).start()
            copy(by_name, place, self._report, self.ended)
            paths = {str(path.absolute()): name for name, path in by_name.items()}
            (place / INDEX).write_text(json.dumps(paths))
            os.write(1, f"{place}\n".encode())
            self.ended.wait()
        except Cut:
            pass
        except OSError as error:
            raise StagingFailed(
                f"The data can't be copied on {_host()}: {error}.", "Can every node read it?"
            ) from error
        finally:
            shutil.rmtree(place, ignore_errors=True)
            os.close(lock)

    def _watch(self) -> None:
        """Set `ended` once no process reads our stdout."""
        poll = select.poll()
        poll.register(1, select.POLLERR)
        while not self.ended.is_set():
            if poll.poll(POLL_S * 1e3):
                self.ended.set()

    def _report(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._at < REPORT_S and done < total:
            return
        self._at = now
        atomic_files.swap(
            self._folder / job_files.staging(self._node), msgspec.json.encode(Staging(done, total))
        )


def _host() -> str:
    return socket.gethostname().split(".")[0]


def main(arguments: list[str]) -> int:
    """Entry point: `stage FOLDER PLACE NODE [GRACE_S]`."""
    folder, place, index = Path(arguments[1]), arguments[2], arguments[3]
    node = task_number.of(index)
    grace_s = float(arguments[4]) if len(arguments) > 4 else GRACE_S
    if not index.isdecimal():  # one command for several nodes, which may share one scratch folder
        place = f"{place}.{node}"
    record = lenient.decode((folder / job_files.JOB).read_bytes(), JobRecord)
    keeper = Keeper(record, folder, Path(place), node, grace_s)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: keeper.end_soon())
    signal.signal(signal.SIGUSR1, lambda *_: keeper.ended.set())
    try:
        keeper.run()
    except StagingFailed as failed:
        message, hint = failed.args
        atomic_files.swap(
            folder / job_files.WAITING, msgspec.json.encode(Reason("not_staged", message, hint, final=True))
        )
        print(f"dtrain-lab: {message} {hint}", file=sys.stderr)
        return 1
    return 0
