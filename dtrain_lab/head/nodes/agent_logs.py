"""Keeps the log of a node agent that failed: the head's folder, in which it lies, ends with the head."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from dtrain_lab.machine.folders import private
from dtrain_lab.wire.processes.settings import HeadSettings

log = logging.getLogger(__name__)
MOST_KEPT = 20
SUFFIX = ".failed.log"


def copy_log(settings: HeadSettings, node: int) -> str:
    """Copy a node agent's log to the folder of logs; return a sentence that names the copy.

    Args:
        settings: Settings of the head.
        node: Number of the agent's node.
    """
    name = f"node.{node}.log"
    source = Path(settings.directory, name)
    try:
        if not source.stat().st_size:
            return "Its log is empty."
        beside = Path(settings.record).parent if settings.record else source.parent.parent
        folder = private(beside / "logs")
        copy = shutil.copyfile(source, folder / f"{settings.id}.{name.removesuffix('.log')}{SUFFIX}")
        for old in sorted(folder.glob(f"*{SUFFIX}"), key=lambda file: file.stat().st_mtime)[:-MOST_KEPT]:
            old.unlink(missing_ok=True)
    except OSError as error:
        log.warning("the log of node %s was not kept: %s", node, error)
        return "Its log could not be kept."
    return f"Its log: {copy}"
