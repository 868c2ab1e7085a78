"""Script of a job: a preamble, then each cell below a marker with its name."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from dtrain_lab.errors import BadRequest
from dtrain_lab.jobs.notebook import preamble, process_group
from dtrain_lab.jobs.notebook.magics import Converted, convert_cell
from dtrain_lab.jobs.notebook.source import PARAMETERS, SKIP, Cell
from dtrain_lab.jobs.notebook.torch_use import has_torch
from dtrain_lab.wire.jobs.finding import Finding
from dtrain_lab.wire.kinds import Accelerator, Framework


class Script(Struct, frozen=True):
    """A notebook as Python. `installs`: arguments of its `pip install` lines."""

    text: str
    findings: tuple[Finding, ...] = ()
    installs: tuple[str, ...] = ()


def convert(
    cells: Sequence[Cell],
    *,
    title: str,
    parameters: Mapping[str, Any] | None = None,
    framework: Framework = "torch",
    accelerator: Accelerator = "gpu",
    local_torch_text: str | None = None,
    makes_group: bool | None = None,
) -> Script:
    """Convert a notebook to a script.

    Args:
        cells: cells of the notebook, in order.
        title: the notebook's file name.
        parameters: values that override those of the cell tagged `parameters`; they are assigned right after
            that cell, or before all cells if none has the tag.
        framework: what the notebook trains with.
        accelerator: kind of the nodes' devices.
        local_torch_text: text of files that the cells import, where these stand for torch; None if none
            does.
        makes_group: whether cells make the process group themselves, or their files; None to look at the
            cells alone.

    Raises:
        BadRequest: a parameter's name isn't a Python identifier, or its value can't be written as a literal.
    """
    converted_cells = [(cell, convert_cell(cell)) for cell in cells if cell.runs]
    findings = (*(f for _, converted in converted_cells for f in converted.findings), *_skipped(cells))
    values = _assignments(parameters or {})
    tagged = next((cell.name for cell, _ in converted_cells if PARAMETERS in cell.tags), None)
    sources = [c.source for _, c in converted_cells]
    with_torch = has_torch(sources, framework, local_torch_text)
    parts = ["# %% preamble"]
    parts.append(
        preamble.text(
            title,
            sources,
            _helpers(converted_cells),
            framework,
            accelerator,
            local_torch_text,
            with_torch=with_torch,
            makes_group=process_group.of_sources(sources) if makes_group is None else makes_group,
            futures=tuple(
                dict.fromkeys(name for _, converted in converted_cells for name in converted.futures)
            ),
        )
    )
    if values and tagged is None:
        parts += ["# %% parameters", *values, ""]
    for cell, converted in converted_cells:
        parts += [f"# %% cell {cell.name} {_plain(cell.id)}", converted.source, ""]
        if values and cell.name == tagged:
            parts += ["# %% parameters", *values, ""]
    parts += ["# %% end", preamble.END] if with_torch else []
    installs = tuple(text for _, converted in converted_cells for text in converted.installs)
    return Script("\n".join(parts).rstrip("\n") + "\n", findings, installs)


def _skipped(cells: Sequence[Cell]) -> list[Finding]:
    return [
        Finding("note", "cell_skipped", f'The cell is tagged "{SKIP}" and left out.', "", cell.name, 1)
        for cell in cells
        if SKIP in cell.tags
    ]


def _helpers(converted_cells: Sequence[tuple[Cell, Converted]]) -> frozenset[str]:
    return frozenset(helper for _, converted in converted_cells for helper in converted.helpers)


def _plain(identity: str) -> str:
    return re.sub(r"\s", "_", identity) or "_"


def _assignments(parameters: Mapping[str, Any]) -> list[str]:
    lines = []
    for name, value in parameters.items():
        if not name.isidentifier() or keyword.iskeyword(name):
            raise BadRequest(
                f'The parameter "{name}" is not a Python name.',
                "Use letters, digits and _.",
                details={"field": "parameters"},
            )
        text = repr(value)
        try:
            ast.literal_eval(text)
        except (ValueError, SyntaxError) as error:
            raise BadRequest(
                f"The value of the parameter {name} can't be written into a script.",
                "Use numbers, strings, or lists and dicts of them.",
                details={"field": "parameters"},
            ) from error
        lines.append(f"{name} = {text}")
    return lines
