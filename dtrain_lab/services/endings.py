"""How clusters have ended, kept on this machine for the notebooks that used them; logs of killed heads."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import msgspec

from dtrain_lab.machine import atomic_files
from dtrain_lab.machine.logs import kept_logs
from dtrain_lab.services import paths
from dtrain_lab.wire.clients import Lease
from dtrain_lab.wire.endings import SUFFIX, Ending
from dtrain_lab.wire.processes.head_record import HeadRecord

log = logging.getLogger("dtrain_lab.client")
KEPT_S = 7 * 86400.0
HEAD_LOG = "head.log"


def _path(identity: str) -> Path:
    return paths.records() / f"{identity}{SUFFIX}"


def by(lease: Lease) -> Ending:
    """Return the end of a cluster that a client, named by its lease, stops now."""
    ipython = lease.kind == "kernel" and lease.notebook is None  # in a terminal
    return Ending("python" if ipython else lease.kind, lease.notebook, time.time())


def note(identity: str, ending: Ending) -> None:
    """Note who stops a cluster, and forget those that ended more than a week ago.

    On a full or read-only disk, the cluster is stopped all the same, without a note of who did it.

    Args:
        identity: Id of the cluster.
        ending: Its end.
    """
    try:
        for path in paths.records().glob(f"*{SUFFIX}"):
            if (old := _read(path)) is None or time.time() - old.at > KEPT_S:
                path.unlink(missing_ok=True)
        atomic_files.swap(_path(identity), msgspec.json.encode(ending))
    except OSError as error:
        log.warning("could not note who has stopped cluster %s: %s", identity, error)


def of(identity: str) -> Ending | None:
    """Return how a cluster has ended, of which this may have been noted; None if it was not."""
    return _read(_path(identity))


def note_killed(record: HeadRecord) -> None:
    """Note that a cluster has ended unexpectedly, unless a client has stopped it; its folder is still there.

    Args:
        record: What its head has left: one that ends by itself removes its record.
    """
    if record.warm:
        return
    kept = _kept_log(record)
    # looked up after the log was copied: another process that has removed the folder has noted the end before
    if of(record.id) is None:
        note(record.id, Ending("killed", None, time.time(), name=record.name, log=kept))


def of_killed(record: HeadRecord) -> Ending | None:
    """Return the end that `note_killed` will note of a head's cluster; None for a warm head.

    Args:
        record: What its head has left; its folder is still there.
    """
    if record.warm:
        return None
    try:
        has_log = Path(record.directory, HEAD_LOG).stat().st_size > 0
        copy = str(kept_logs.path_of(paths.logs(), _copy_name(record))) if has_log else ""
    except OSError:  # `note_killed` tells why, where it is a failure
        copy = ""
    return Ending("killed", None, time.time(), name=record.name, log=copy)


def _copy_name(record: HeadRecord) -> str:
    return f"{record.id}.head"


def _kept_log(record: HeadRecord) -> str:
    """Copy the log of a head; return the copy's path, which is empty if there is none."""
    try:
        copy = kept_logs.keep_log(Path(record.directory, HEAD_LOG), paths.logs(), _copy_name(record))
    except FileNotFoundError:  # another process has kept it, and has removed the folder
        return ""
    except OSError as error:
        log.warning("the log of the head of %s was not kept: %s", record.name, error)
        return ""
    return str(copy) if copy is not None else ""


def recent(most: int) -> dict[str, Ending]:
    """Return the ends that were noted last, by the clusters' ids, the latest last.

    Args:
        most: Maximum number of them.
    """
    noted = [(path.stem, ending) for path in _files() if (ending := _read(path)) is not None]
    return dict(sorted(noted, key=lambda one: one[1].at)[-most:])


def killed(name: str) -> Ending | None:
    """Return the latest unexpected end of a cluster of a name; None if there was none lately."""
    noted = [e for path in _files() if (e := _read(path)) is not None and (e.by, e.name) == ("killed", name)]
    return max(noted, key=lambda ending: ending.at, default=None)


def _files() -> list[Path]:
    try:
        return list(paths.records().glob(f"*{SUFFIX}"))
    except OSError as error:
        log.warning("could not read how clusters have ended: %s", error)
        return []


def _read(path: Path) -> Ending | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Ending)
    except (OSError, msgspec.MsgspecError):
        return None
