"""Places in the user's code as text."""

from __future__ import annotations

import os

from dtrain_lab.wire.stacks import Where


def place(where: Where | None) -> str:
    """Name a line, as "cell [7], line 6" or "data.py, line 40"; empty if it is unknown."""
    if where is None or where.line is None or not (where.cell or where.file):
        return ""
    name = f"cell {where.cell}" if where.cell else os.path.basename(where.file or "")
    return f"{name}, line {where.line}"
