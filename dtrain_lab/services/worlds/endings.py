"""Who has stopped a cluster, kept on this machine for the notebooks that used it."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import msgspec

from dtrain_lab.machine import atomic_files
from dtrain_lab.services import paths
from dtrain_lab.wire.clients import Lease
from dtrain_lab.wire.endings import Ending

log = logging.getLogger("dtrain_lab.client")
KEPT_S = 7 * 86400.0
SUFFIX = ".ended"


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
    """Return who has stopped a cluster; None if that is not known, as of a head that was killed."""
    return _read(_path(identity))


def _read(path: Path) -> Ending | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Ending)
    except (OSError, msgspec.MsgspecError):
        return None
