"""How the last runs of a cluster's cells ended, left for the notebooks that used it.

A notebook that was saved in mid-run can't tell otherwise whether a cell had ended before its cluster did.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from dtrain_lab.machine import atomic_files
from dtrain_lab.wire.cells import CellRecord
from dtrain_lab.wire.endings import CELLS_SUFFIX
from dtrain_lab.wire.processes.settings import HeadSettings

log = logging.getLogger("dtrain_lab.head")
MOST = 200
"""Maximum number of cells, the latest."""
KEPT_S = 7 * 86400.0


def leave(settings: HeadSettings, cells: Sequence[CellRecord]) -> None:
    """Leave how cells ended beside the record of a head of this machine; remove files older than a week.

    On a full or read-only disk, the cluster ends all the same; notebooks then can't say how cells ended.

    Args:
        settings: Settings of the head. One on another machine leaves nothing: no client would find it.
        cells: The last run of each cell, oldest first.
    """
    ran = [_shortened(cell) for cell in cells if cell.cell_id is not None and cell.result is not None]
    if settings.remote is not None or not ran:
        return
    path = Path(settings.record).with_suffix(CELLS_SUFFIX)
    try:
        atomic_files.swap(path, msgspec.json.encode(ran[-MOST:]))
        for old in path.parent.glob(f"*{CELLS_SUFFIX}"):
            with contextlib.suppress(FileNotFoundError):  # another head that ends removes it, too
                if time.time() - old.stat().st_mtime > KEPT_S:
                    old.unlink()
    except OSError as error:
        log.warning("could not note how the cells have ended: %s", error)


def _shortened(cell: CellRecord) -> CellRecord:
    """Return a record without tracebacks, and with one failure of each kind: its parts tell the outcome."""
    assert cell.result is not None
    failures = {(f.kind, f.type): replace(f, message="", frames=(), detail=()) for f in cell.result.failures}
    return replace(cell, result=replace(cell.result, failures=tuple(failures.values()), traceback=()))
