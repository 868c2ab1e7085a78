"""Whether a notebook has the parameters that a sweep varies: the names that its tagged cell assigns."""

from __future__ import annotations

import ast
import difflib
import symtable
from collections.abc import Iterable, Sequence

from dtrain_lab.errors import BadNotebook
from dtrain_lab.jobs.check.parsed import parse
from dtrain_lab.jobs.notebook.magics import convert_cell
from dtrain_lab.jobs.notebook.source import PARAMETERS, Cell


def check_names(cells: Sequence[Cell], names: Iterable[str], file: str) -> None:
    """Check that the cell tagged `parameters` assigns all names.

    Args:
        cells: Code cells of the notebook.
        names: Parameters that a sweep sets.
        file: The notebook's file name, for errors.

    Raises:
        BadNotebook: No cell is tagged, it is not Python, or it does not assign a name.
    """
    tagged = next((cell for cell in cells if cell.runs and PARAMETERS in cell.tags), None)
    if tagged is None:
        raise BadNotebook(
            f'{file} has no cell tagged "{PARAMETERS}", so a sweep has nothing to vary.',
            "Tag the cell that assigns the parameters (property inspector, Cell Tags).",
            code="no_parameters",
        )
    parsed = parse(tagged)
    if parsed is None:
        raise BadNotebook(
            f'The cell tagged "{PARAMETERS}" of {file} is not valid Python{_where(tagged)}.',
            "Correct it: it has to assign the parameters.",
            code="no_parameters",
        )
    table = symtable.symtable(parsed.source, tagged.name, "exec")
    known = sorted(s.get_name() for s in table.get_symbols() if s.is_assigned())
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            has = f"it has {', '.join(known)}" if known else "it assigns nothing"
            hint = f"Did you mean {near[0]}?" if near else f"Assign {name} in that cell, or correct its name."
            raise BadNotebook(
                f'The cell tagged "{PARAMETERS}" of {file} has no {name}; {has}.',
                hint,
                code="no_such_parameter",
                details={"field": "space", "parameter": name},
            )


def _where(cell: Cell) -> str:
    """Return ", line 3: invalid syntax" of a cell that can't be parsed."""
    try:
        ast.parse(convert_cell(cell).source)
    except SyntaxError as error:
        return f", line {error.lineno}: {error.msg}"
    except ValueError as error:
        return f": {error}"
    return ""
