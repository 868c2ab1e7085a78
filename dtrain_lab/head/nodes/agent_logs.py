"""Keeps the log of a node agent that failed: the head's folder, in which it lies, ends with the head."""

from __future__ import annotations

import logging
from pathlib import Path

from dtrain_lab.machine.logs.kept_logs import keep_log
from dtrain_lab.wire.processes.settings import HeadSettings

log = logging.getLogger(__name__)


def copy_log(settings: HeadSettings, node: int) -> str:
    """Copy a node agent's log to the folder of logs; return a sentence that names the copy.

    Args:
        settings: Settings of the head.
        node: Number of the agent's node.
    """
    source = Path(settings.directory, f"node.{node}.log")
    beside = Path(settings.record).parent if settings.record else source.parent.parent
    try:
        copy = keep_log(source, beside / "logs", f"{settings.id}.node.{node}")
    except OSError as error:
        log.warning("the log of node %s was not kept: %s", node, error)
        return "Its log could not be kept."
    return f"Its log: {copy}" if copy is not None else "Its log is empty."
