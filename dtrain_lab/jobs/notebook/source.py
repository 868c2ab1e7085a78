"""Code cells of a notebook, with the names that they have in a job."""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct

from dtrain_lab.cells.syntax import label
from dtrain_lab.errors import BadNotebook

SKIP, PARAMETERS = "skip-in-job", "parameters"


class Cell(Struct, frozen=True):
    """A code cell. `name`: its position among the notebook's code cells, "[3]"."""

    name: str
    id: str
    source: str
    tags: tuple[str, ...] = ()

    @property
    def runs(self) -> bool:
        """Whether it has code and isn't tagged to be skipped in jobs."""
        return bool(self.source.strip()) and SKIP not in self.tags


def read(text: str, file: str) -> tuple[Cell, ...]:
    """Read the code cells of a notebook.

    Args:
        text: content of the .ipynb file.
        file: its path, for errors.

    Raises:
        BadNotebook: not a notebook, or one that can't be converted to format 4.
    """
    import nbformat

    try:
        data: Any = json.loads(text)
        if not isinstance(data, dict) or ("cells" not in data and "worksheets" not in data):
            raise ValueError("it has no cells")
        book = nbformat.from_dict(nbformat.convert(data, 4))  # type: ignore[no-untyped-call]
    except (ValueError, KeyError, TypeError, AttributeError, nbformat.ValidationError) as error:
        raise BadNotebook(
            f"{file} is not a readable notebook: {_short(error)}.", "Save the notebook again."
        ) from error
    cells: list[Cell] = []
    for cell in book["cells"]:
        if cell.get("cell_type") != "code":
            continue
        source = cell.get("source", "")
        source = "".join(source) if isinstance(source, list) else str(source)
        tags = tuple(str(tag) for tag in cell.get("metadata", {}).get("tags", ()))
        count = len(cells) + 1
        cells.append(Cell(label(count), str(cell.get("id", f"cell-{count}")), source, tags))
    return tuple(cells)


def _short(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
