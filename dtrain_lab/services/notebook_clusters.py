"""The cluster that a notebook used last, and the options of its start; remembered after the kernel ends."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from dtrain_lab.machine import durable
from dtrain_lab.services import folders


class Used(msgspec.Struct, frozen=True):
    """The cluster that a notebook used last. `monitor`: the option of its start.

    `begun`: the panel has started it for this notebook, whose kernel has not used it yet.
    """

    cluster: str
    monitor: bool | None = None
    begun: bool = False


def _path(notebook: str) -> Path:
    return folders.records() / f"{hashlib.sha256(notebook.encode()).hexdigest()[:32]}.notebook"


def remember(notebook: str, used: Used) -> None:
    """Remember which cluster a notebook uses."""
    durable.swap(_path(notebook), msgspec.json.encode(used))


def last(notebook: str) -> Used | None:
    """Return the cluster that a notebook used last; None if unknown."""
    try:
        return msgspec.json.decode(_path(notebook).read_bytes(), type=Used)
    except (OSError, msgspec.MsgspecError):
        return None
