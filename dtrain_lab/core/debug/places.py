"""Names of places in code, the same on every node."""

from __future__ import annotations

import os
from typing import Any

CELL = "dtrain-cell:"
"""Begins the path of a cell's text; the rest is the name that its text has everywhere."""


def cell_name(path: str) -> str:
    """Name of a cell by the path that a notebook's debugger gives it."""
    return os.path.basename(path)


def is_ours(source: dict[str, Any]) -> bool:
    """Frames of the machinery that runs cells."""
    path = str(source.get("path", ""))
    return "/ipykernel/" in path or "/IPython/" in path or "/dtrain_lab/rank/" in path or "/runpy.py" in path
