"""The quickstart notebook that the package ships."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dtrain_lab
from dtrain_lab.errors import NotFound

PACKAGE = Path(dtrain_lab.__file__).parent
PLACES = (PACKAGE / "notebooks", PACKAGE.parent / "notebooks")
"""Its folder in the wheel, and in a checkout."""


def quickstart() -> dict[str, Any]:
    """Return the quickstart notebook, without outputs.

    Raises:
        NotFound: This installation does not contain it.
    """
    for folder in PLACES:
        path = folder / "quickstart.ipynb"
        if path.exists():
            notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    cell["outputs"], cell["execution_count"] = [], None
            return notebook
    raise NotFound("This installation has no quickstart notebook.", "Install the wheel of dtrain-lab again.")
