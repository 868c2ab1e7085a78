"""Keeps a copy of a job's data on a node's own disk: `python -m dtrain_lab.node stage FOLDER PLACE [NODE]`.

It prints a line once the copy is whole. The copy is removed when nobody reads what it prints any more (its
script, and whatever that has started), by SIGUSR1, or a while after SIGTERM: ranks that are ended, too, may
still read it. One whose keeper was killed is removed by the next keeper here.
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

from dtrain_lab.core import jobfiles
from dtrain_lab.core.amounts import size_text
from dtrain_lab.core.cluster import Reason
from dtrain_lab.core.job import JobRecord, Staging
from dtrain_lab.core.staged import INDEX, names

PIECE = 16 << 20
SAY_S = 1.0
LOOK_S = 0.2
ROOM = 0.95
"""Of the free space; the rest is for others."""
GRACE_S = 10.0
SLURM_GRACE_S = 2.0
"""Sites choose how long a cancelled job has until it is killed: what is still there then stays."""
LOCK = ".lock"


class Failed(Exception):
    """The data can't be copied: message and hint."""


class Cut(Exception):
    """The job has ended meanwhile."""


def sources(record: JobRecord) -> dict[str, Path]:
    """What is to be copied, by its name in the copy.

    Raises:
        Failed: it is not there.
    """
    found = {}
    for name, path in names(record.request.stage).items():
        found[name] = Path(path).expanduser()
        if not found[name].exists():
            raise Failed(f"There is no {path} on {_host()}.", "Name data that every node can read.")
    return found


def files(source: Path) -> Iterator[tuple[Path, Path]]:
    """All plain files of a file or folder, each with its path below it; links are followed, once."""
    if source.is_file():
        yield source, Path()
        return
    seen: set[tuple[int, int]] = set()
    for folder, below, found in os.walk(source, followlinks=True):
        there = os.stat(folder)
        if (there.st_dev, there.st_ino) in seen:
            below.clear()
            continue
        seen.add((there.st_dev, there.st_ino))
        for name in found:
            path = Path(folder, name)
            if path.is_file():
                yield path, path.relative_to(source)


def private(folder: Path) -> Path:
    """A folder of ours that nobody else can read, made if needed.

    Raises:
        Failed: somebody else's lies there, or it can't be made.
    """
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        there = folder.lstat()
    except OSError as error:
        raise Failed(
            f"{folder} can't be made on {_host()}: {error.strerror}.",
            "Set scratch in the profile to a folder on each node's own disk.",
        ) from error
    if not stat.S_ISDIR(there.st_mode) or there.st_uid != os.getuid() or there.st_mode & 0o077:
        raise Failed(
            f"{folder} on {_host()} is not ours alone.", "Set scratch in the profile to another folder."
        )
    return folder


def sweep(base: Path) -> None:
    """Remove copies whose keeper has ended without doing so."""
    for left in base.iterdir():
        try:
            lock = os.open(left / LOCK, os.O_RDONLY)
        except OSError:  # being made, or being removed
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)
        except BlockingIOError:
            continue
        finally:
            os.close(lock)


def claim(place: Path) -> tuple[int, Path]:
    """A folder of our own, and the lock that says so; what others have left goes.

    Returns:
        The descriptor of the lock, and the folder.

    Raises:
        Failed: somebody else's lies there, or it can't be made.
    """
    base = private(place.parent)
    alone = os.open(base, os.O_RDONLY)
    try:
        fcntl.flock(alone, fcntl.LOCK_EX)  # nobody sweeps between our making it and our locking it
        sweep(base)
        private(place)
        lock = os.open(place / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
    finally:
        os.close(alone)
    return lock, place


def copy(
    found: dict[str, Path], place: Path, told: Callable[[int, int], None], ended: threading.Event
) -> None:
    """Copy all, with their times; what lies on this disk already is linked to.

    Args:
        found: what, by its name in the copy.
        place: folder of the copy.
        told: called with the bytes done, and of all.
        ended: set where nobody wants it any more.

    Raises:
        Failed: there is no room for it, or it can't be read or written.
        Cut: nobody wants it any more.
    """
    own = place.stat().st_dev
    far = {name: source for name, source in found.items() if source.stat().st_dev != own}
    for name in found.keys() - far.keys():
        (place / name).symlink_to(found[name].absolute())
    wanted = [(path, place / name / below) for name, source in far.items() for path, below in files(source)]
    total = sum(path.stat().st_size for path, _ in wanted)
    free = shutil.disk_usage(place).free
    if total > free * ROOM:
        raise Failed(
            f"{_host()} has {size_text(free)} free in {place.parent}; the data to be copied there has "
            f"{size_text(total)}.",
            "Set scratch in the profile to a larger disk, or copy less.",
        )
    done = 0
    told(done, total)
    for path, target in wanted:
        target.parent.mkdir(parents=True, exist_ok=True)
        with path.open("rb") as reading, target.open("wb") as writing:
            while sent := os.sendfile(writing.fileno(), reading.fileno(), None, PIECE):
                done += sent
                told(done, total)
                if ended.is_set():
                    raise Cut
        shutil.copystat(path, target)


class Keeper:
    """One copy, from its making to its end.

    Args:
        record: of the job.
        folder: of the job.
        place: of the copy.
        node: index of this node.
        grace_s: from SIGTERM to its end.
    """

    def __init__(self, record: JobRecord, folder: Path, place: Path, node: int, grace_s: float) -> None:
        self._record = record
        self._folder = folder
        self._place = place
        self._node = node
        self._grace_s = grace_s
        self._at = 0.0
        self.ended = threading.Event()
        """Nobody wants it any more."""

    def end_soon(self) -> None:
        """The job is being ended."""
        timer = threading.Timer(self._grace_s, self.ended.set)
        timer.daemon = True
        timer.start()

    def run(self) -> None:
        """Copy, say so, and keep it.

        Raises:
            Failed: it can't be copied.
        """
        found = sources(self._record)
        lock, place = claim(self._place)
        try:
            threading.Thread(target=self._watch, daemon=True).start()
            copy(found, place, self._tell, self.ended)
            paths = {str(path.absolute()): name for name, path in found.items()}
            (place / INDEX).write_text(json.dumps(paths))
            os.write(1, f"{place}\n".encode())
            self.ended.wait()
        except Cut:
            pass
        except OSError as error:
            raise Failed(
                f"The data can't be copied on {_host()}: {error}.", "Can every node read it?"
            ) from error
        finally:
            shutil.rmtree(place, ignore_errors=True)
            os.close(lock)

    def _watch(self) -> None:
        """Until nobody reads what we print."""
        poll = select.poll()
        poll.register(1, select.POLLERR)
        while not self.ended.is_set():
            if poll.poll(LOOK_S * 1e3):
                self.ended.set()

    def _tell(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._at < SAY_S and done < total:
            return
        self._at = now
        _write(self._folder / jobfiles.staging(self._node), msgspec.json.encode(Staging(done, total)))


def _write(path: Path, data: bytes) -> None:
    part = path.with_name(f".{path.name}")
    part.write_bytes(data)
    part.rename(path)


def _host() -> str:
    return socket.gethostname().split(".")[0]


def main(arguments: list[str]) -> int:
    """Entry point: `stage FOLDER PLACE [NODE]`; without NODE, the one that Slurm names, in PLACE.NODE."""
    folder, place = Path(arguments[1]), arguments[2]
    if len(arguments) > 3:
        node, grace_s = int(arguments[3]), GRACE_S
    else:  # scratch may be one folder for several nodes
        node, grace_s = int(os.environ["SLURM_NODEID"]), SLURM_GRACE_S
        place = f"{place}.{node}"
    record = msgspec.json.decode((folder / jobfiles.JOB).read_bytes(), type=JobRecord)
    keeper = Keeper(record, folder, Path(place), node, grace_s)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: keeper.end_soon())
    signal.signal(signal.SIGUSR1, lambda *_: keeper.ended.set())
    try:
        keeper.run()
    except Failed as failed:
        message, hint = failed.args
        _write(
            folder / jobfiles.WAITING, msgspec.json.encode(Reason("not_staged", message, hint, final=True))
        )
        print(f"dtrain-lab: {message} {hint}", file=sys.stderr)
        return 1
    return 0
