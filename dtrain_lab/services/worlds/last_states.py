"""Last states of clusters that have run, kept on this machine until a page has told of their end.

A Jupyter server that starts learns from them which clusters ended while there was none, or unseen. One file
per cluster, so that servers of the same user don't overwrite what another one keeps.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from dtrain_lab.machine import atomic_files
from dtrain_lab.services import endings, paths
from dtrain_lab.services.connection import head_records
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.endings import Ending

log = logging.getLogger("dtrain_lab.client")
SUFFIX = ".ran"


def _path(identity: str) -> Path:
    return paths.records() / f"{identity}{SUFFIX}"


def save(changed: Mapping[str, Cluster | None]) -> None:
    """Keep states, or forget them; on a full or read-only disk, the next server does not know of these ends.

    Args:
        changed: The state of each cluster, by id; None: it need not be kept any more.
    """
    try:
        for identity, cluster in changed.items():
            if cluster is None:
                _path(identity).unlink(missing_ok=True)
            else:
                atomic_files.swap(_path(identity), msgspec.json.encode(cluster))
    except OSError as error:
        log.warning("could not note the states of clusters for the next server: %s", error)


def kept() -> dict[str, Cluster]:
    """Return all states that are kept, by id, in the order of their starts."""
    found = []
    try:
        for path in paths.records().glob(f"*{SUFFIX}"):
            try:
                found.append(msgspec.json.decode(path.read_bytes(), type=Cluster))
            except FileNotFoundError:  # another server has just told of its end
                continue
            except msgspec.MsgspecError:  # of another version
                path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("could not read the states of clusters of an earlier server: %s", error)
    return {cluster.id: cluster for cluster in sorted(found, key=lambda c: c.created_at)}


class Fates(NamedTuple):
    """What has become of clusters.

    `ended`: id of a cluster that has ended → how it ended; None if no process has noted how. `settled`: ids
    of clusters whose states are no longer kept, because another server has reported the end.
    """

    ended: dict[str, Ending | None]
    settled: list[str]


def fates(identities: Iterable[str]) -> Fates:
    """Return what has become of clusters whose states were kept; those that run are left out.

    A cluster whose record is there may run on another host with this home: what can't be asked has not ended.
    """
    head_records.living()  # removes the records of heads that were killed
    over = [i for i in identities if not head_records.path_of(i).exists()]
    settled = [i for i in over if not _path(i).exists()]
    return Fates({i: endings.of(i) for i in over if i not in settled}, settled)
