"""How the last runs of an ended cluster's cells ended, as its head has left it on this machine."""

from __future__ import annotations

import logging

import msgspec

from dtrain_lab.services import paths
from dtrain_lab.wire.cells import CellRecord
from dtrain_lab.wire.endings import CELLS_SUFFIX

log = logging.getLogger("dtrain_lab.client")


def of(identity: str) -> list[CellRecord] | None:
    """Return the last run of each cell of a cluster that has ended, oldest first; None if it left nothing.

    Args:
        identity: Id of the cluster.
    """
    path = paths.records() / f"{identity}{CELLS_SUFFIX}"
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[CellRecord])
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        log.warning("could not read how the cells of cluster %s have ended: %s", identity, error)
        return None
