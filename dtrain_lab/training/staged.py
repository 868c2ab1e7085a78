"""Data that the job has copied to this node's own disk: `dt.staged("/data/cifar10")`."""

from __future__ import annotations

import json
import os
from pathlib import Path

from dtrain_lab.core import staged as names


def staged(path: str | os.PathLike[str]) -> Path:
    """Where to read data from: its copy on this node's own disk, or where it lies where there is none.

    Args:
        path: what the job was asked to copy, or something below it.
    """
    original = Path(path).expanduser().absolute()
    folder = os.environ.get(names.VARIABLE)
    if not folder:
        return original
    index = json.loads(Path(folder, names.INDEX).read_text())
    return Path(names.find(str(original), folder, index))
