"""`dt.staged("/data/cifar10")`: path of data that the job has copied to this node's own disk."""

from __future__ import annotations

import json
import os
from pathlib import Path

from dtrain_lab.errors import BadRequest
from dtrain_lab.jobs import staging as names
from dtrain_lab.jobs.environment_variables import STAGED


def staged(path: str | os.PathLike[str]) -> Path:
    """Where to read data from: its copy on this node's own disk, or the original where it wasn't copied.

    Args:
        path: a path that the job was asked to copy, or a path below it.

    Returns:
        An absolute path.

    Raises:
        BadRequest: `path` is not a path.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise BadRequest(
            f"dt.staged: {path!r} is not a path.", "Give the path that the job was asked to copy."
        )
    original = Path(path).expanduser().absolute()
    folder = os.environ.get(STAGED)
    if not folder:
        return original
    index = json.loads(Path(folder, names.INDEX).read_text())
    return Path(names.find(str(original), folder, index))
