"""The script of a job: a preamble, then each cell under a marker that names it."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from dtrain_lab.core.finding import Finding
from dtrain_lab.core.notebook import preamble
from dtrain_lab.core.notebook.magics import Converted, convert_cell
from dtrain_lab.core.notebook.source import PARAMETERS, SKIP, Cell
from dtrain_lab.errors import BadRequest


class Script(Struct, frozen=True):
    """A notebook as Python. `installs`: what its `%pip install` lines asked for."""

    text: str
    findings: tuple[Finding, ...] = ()
    installs: tuple[str, ...] = ()


def convert(cells: Sequence[Cell], *, title: str, parameters: Mapping[str, Any] | None = None) -> Script:
    """Make the script.

    Args:
        cells: of the notebook, in order.
        title: the notebook's file name.
        parameters: values that replace those of the cell tagged `parameters`; they come right after it, or
            first where no cell has the tag.

    Raises:
        BadRequest: a parameter's name is no name in Python, or its value can't be written down.
    """
    made = [(cell, convert_cell(cell)) for cell in cells if cell.runs]
    findings = [f for _, one in made for f in one.findings]
    findings += [
        Finding("note", "cell_skipped", f'The cell is tagged "{SKIP}" and left out.', "", cell.name, 1)
        for cell in cells
        if SKIP in cell.tags
    ]
    values = _assignments(parameters or {})
    tagged = next((cell.name for cell, _ in made if PARAMETERS in cell.tags), None)
    parts = ["# %% preamble", preamble.text(title, [c.source for _, c in made], _helpers(made))]
    if values and tagged is None:
        parts += ["# %% parameters", *values, ""]
    for cell, one in made:
        parts += [f"# %% cell {cell.name} {_plain(cell.id)}", one.source, ""]
        if values and cell.name == tagged:
            parts += ["# %% parameters", *values, ""]
    last = preamble.end([c.source for _, c in made])
    parts += ["# %% end", last] if last else []
    installs = tuple(text for _, one in made for text in one.installs)
    return Script("\n".join(parts).rstrip("\n") + "\n", tuple(findings), installs)


def _helpers(made: Sequence[tuple[Cell, Converted]]) -> frozenset[str]:
    return frozenset(helper for _, one in made for helper in one.helpers)


def _plain(identity: str) -> str:
    return re.sub(r"\s", "_", identity) or "_"


def _assignments(parameters: Mapping[str, Any]) -> list[str]:
    lines = []
    for name, value in parameters.items():
        if not name.isidentifier() or keyword.iskeyword(name):
            raise BadRequest(f'The parameter "{name}" is no name in Python.', "Use letters, digits and _.")
        text = repr(value)
        try:
            ast.literal_eval(text)
        except (ValueError, SyntaxError) as error:
            raise BadRequest(
                f"The value of the parameter {name} can't be written into a script.",
                "Give numbers, texts, lists or dictionaries of them.",
            ) from error
        lines.append(f"{name} = {text}")
    return lines
