"""Whether a notebook has the parameters that a sweep sets, and whether their values fit."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dtrain_lab.errors import BadNotebook, BadRequest
from dtrain_lab.jobs.check import parameter_values, parameters
from dtrain_lab.jobs.check.parsed_cells import parse
from dtrain_lab.jobs.notebook.magics import convert_cell
from dtrain_lab.jobs.notebook.source import PARAMETERS, Cell
from dtrain_lab.sweeps.space import KINDS, Choices, LogUniform, RandInt, Range, Space, Uniform
from dtrain_lab.wire.jobs.finding import Finding

RANGE = re.compile(rf"\s*({'|'.join(KINDS)})\s*\(")
"""A text that begins like a range; a list was split at its comma."""

NO_LISTS = "Lists can't vary: vary a number, and choose by it in the notebook."


def check_names(cells: Sequence[Cell], names: Iterable[str], file: str) -> None:
    """Check that the notebook has the parameters that a sweep varies.

    Args:
        cells: Code cells of the notebook.
        names: Parameters that vary.
        file: The notebook's file name, for errors.

    Raises:
        BadNotebook: No cell is tagged `parameters`, it is not Python, or the notebook lacks a parameter.
    """
    tagged = parameter_values.tagged(cells)
    if tagged is None:
        raise BadNotebook(
            f'{file} has no cell tagged "{PARAMETERS}", so a sweep has nothing to vary.',
            "Add this tag to the cell that assigns the parameters (property inspector, Cell Tags).",
            code="no_parameters",
        )
    if parse(tagged) is None:
        raise BadNotebook(
            f'The cell tagged "{PARAMETERS}" of {file} is not valid Python{_where(tagged)}.',
            "Correct it: it has to assign the parameters.",
            code="no_parameters",
        )
    for finding in parameters.unknown(cells, names, "space"):
        details = {"field": finding.field, "parameter": finding.parameter}
        raise BadNotebook(finding.message, finding.fix, code=finding.code, details=details)


def check_values(
    cells: Sequence[Cell], space: Space, fixed: Mapping[str, Any] | None = None
) -> list[Finding]:
    """Find values of parameters whose type differs from that of the value that the tagged cell assigns.

    Args:
        cells: Code cells of the notebook.
        space: The search space.
        fixed: Values that are the same in all trials.

    Returns:
        Warnings of `parameter_values.mismatches` and `parameters.unknown`, and one for each integer that
        varies over a range of fractions.

    Raises:
        BadRequest: A string is given for a number, or looks like a boolean, a range or a list; or a range is
            given for a string, a boolean or a list.
    """
    usual = parameter_values.usual(cells)
    both = [(name, domain) for name, domain in space.items() if name in usual]
    ranges = [(name, domain) for name, domain in both if not isinstance(domain, Choices)]
    for name, domain in ranges:
        _refuse_range(name, domain, usual[name])
    findings = [
        finding for name, domain in ranges if (finding := _fractions(name, domain, usual[name])) is not None
    ]
    varied = {name: domain.values for name, domain in space.items() if isinstance(domain, Choices)}
    same = {name: (value,) for name, value in (fixed or {}).items()}
    for given, field in ((varied, "space"), (same, "parameters")):
        for finding in parameter_values.mismatches(usual, given, field):
            if finding.severity == "problem":
                name = finding.parameter or ""
                details = {"field": field, "parameter": name}
                hint = _hint(given[name], usual[name], varies=field == "space")
                raise BadRequest(finding.message, hint or finding.fix, code=finding.code, details=details)
            findings.append(finding)
    return findings + parameters.unknown(cells, same, "parameters")


def _hint(given: Iterable[Any], usual: Any, *, varies: bool) -> str:
    """Return a hint for a part of a range or of a list; "" for other values."""
    if isinstance(usual, parameter_values.COLLECTIONS):
        return f"{NO_LISTS} A fixed one: [1, 2]."
    called = next((match for text in given if isinstance(text, str) and (match := RANGE.match(text))), None)
    if called is None:
        return ""
    return f"Choose the range {called[1]} instead of a list." if varies else "Let it vary over that range."


def _refuse_range(name: str, domain: Range, usual: Any) -> None:
    """Refuse a range of numbers for a parameter of another type; 0 and 1 may stand for booleans.

    Raises:
        BadRequest: The parameter is not a number in the notebook.
    """
    number = isinstance(usual, int | float) and not isinstance(usual, bool)
    if number or (isinstance(usual, bool) and domain == RandInt(0, 1)):
        return
    kind = parameter_values.kind_of(usual)
    lists = isinstance(usual, parameter_values.COLLECTIONS)
    raise BadRequest(
        f"{name} can't vary over {domain}: the notebook has {parameter_values.shown(usual)}, not a number.",
        NO_LISTS if lists else f"Give a list of values, each of them {kind}.",
        code="bad_value",
        details={"field": "space", "parameter": name},
    )


def _fractions(name: str, domain: Range, usual: Any) -> Finding | None:
    """Warn of fractions for an integer, if the range contains integers.

    Between 0 and 1 there is no other integer: `dropout = 0` and `lr = 1` are probably meant as fractions.
    """
    if not isinstance(usual, int) or not isinstance(domain, Uniform | LogUniform):
        return None
    low, high = math.ceil(domain.low), math.floor(domain.high)
    if high - low < 2:
        return None
    return Finding(
        "warning",
        "fractions",
        f"{name} takes fractional values from {domain}; the notebook has the whole number {usual}.",
        f"Where it must be whole, as a width or a number of layers, use randint({low}, {high}).",
        field="space",
        parameter=name,
    )


def _where(cell: Cell) -> str:
    """Return ", line 3: invalid syntax" for a cell that can't be parsed."""
    try:
        ast.parse(convert_cell(cell).source)
    except SyntaxError as error:
        return f", line {error.lineno}: {error.msg}"
    except ValueError as error:
        return f": {error}"
    return ""
