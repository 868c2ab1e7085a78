"""Whether a notebook has the parameters that a sweep varies: the names that its tagged cell assigns."""

from __future__ import annotations

import ast
import difflib
import math
import operator
import re
import symtable
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dtrain_lab.errors import BadNotebook, BadRequest
from dtrain_lab.jobs.check.parsed import parse
from dtrain_lab.jobs.notebook.magics import convert_cell
from dtrain_lab.jobs.notebook.source import PARAMETERS, Cell
from dtrain_lab.sweeps.space import KINDS, Choices, Domain, LogUniform, Space, Uniform
from dtrain_lab.wire.jobs.finding import Finding

RANGE = re.compile(rf"\s*({'|'.join(KINDS)})\s*\(")
"""A text that begins like a range; in a list, its comma has parted it."""
NUMBER = re.compile(
    r"[-+−–]?[.,]?\d[\d.,;_'\s*/ol]*(e[-+−–]?[\d.,ol]*)?[a-z%]?|[-+]?(inf|infinity|nan)", re.IGNORECASE
)
"""A text that looks like a number, also with a typing error: "0,1", "1e-3x", "1O"."""
TRUTHS = ("true", "false", "yes", "no", "on", "off")
OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip
COLLECTIONS = (list, tuple, dict, set)
LARGEST_OPERAND = 1e4
"""Beyond this a power could take long."""


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


def check_values(
    cells: Sequence[Cell], space: Space, fixed: Mapping[str, Any] | None = None
) -> list[Finding]:
    """Look for values that parameters get where the tagged cell assigns a number of another kind.

    Args:
        cells: Code cells of the notebook.
        space: What varies.
        fixed: Values that are the same in all trials.

    Returns:
        A warning for each parameter that gets a string (`weights = False` may be meant for one, too), and for
        each that has a whole number and gets fractions: what they do is known to the notebook alone.

    Raises:
        BadRequest: A string looks like a number with a typing error, like a range or like a part of a list.
    """
    tagged = next((cell for cell in cells if cell.runs and PARAMETERS in cell.tags), None)
    parsed = parse(tagged) if tagged is not None else None
    usual = _usual(parsed.tree) if parsed is not None else {}
    given = {name: domain.values for name, domain in space.items() if isinstance(domain, Choices)}
    given |= {name: (value,) for name, value in (fixed or {}).items()}
    both = [(name, domain) for name, domain in space.items() if name in usual]
    found = [one for name, domain in both if (one := _of_fractions(name, domain, usual[name])) is not None]
    for name, values in given.items():
        texts = [value for value in values if isinstance(value, str)] if name in usual else []
        if not texts:
            continue
        listed = isinstance(usual[name], COLLECTIONS)
        what = "true or false" if isinstance(usual[name], bool) else "a list" if listed else "a number"
        wrong = next((text for text in texts if _mistyped(text, usual[name])), None)
        said = f'{name} has "{wrong or texts[0]}", which is a string; the notebook has {usual[name]!r}.'
        if wrong is None:
            fix = f"Trials get the string. Correct it if {what} was meant."
            found.append(Finding("warning", "string_value", said, fix, field="space", parameter=name))
            continue
        called = RANGE.match(wrong)
        hint = f"Give {what}."
        if listed:
            hint = "Lists can't vary: vary a number, and choose by it in the notebook. A fixed one: [1, 2]."
        if called:
            ranged = f"Choose the range {called[1]} in the place of a list."
            hint = ranged if name in space else "Let it vary over that range."
        details = {"field": "space", "parameter": name}
        raise BadRequest(said, hint, code="bad_value", details=details)
    return found


def _of_fractions(name: str, domain: Domain, usual: float) -> Finding | None:
    """Warn of a range of fractions for a whole number, where whole numbers have room in it.

    Between 0 and 1 there is no other whole number: `dropout = 0` and `lr = 1` are not meant as such.
    """
    if isinstance(usual, bool) or not isinstance(usual, int) or not isinstance(domain, Uniform | LogUniform):
        return None
    low, high = math.ceil(domain.low), math.floor(domain.high)
    if high - low < 2:
        return None
    return Finding(
        "warning",
        "fractions",
        f"{name} gets fractions from {domain}; the notebook has the whole number {usual}.",
        f"Where it must be whole, as a width or a number of layers, use randint({low}, {high}).",
        field="space",
        parameter=name,
    )


def _mistyped(text: str, usual: Any) -> bool:
    """Whether a string was meant for a number or a range, or for what is usual: true or false, a list."""
    if isinstance(usual, COLLECTIONS):
        return text.strip()[:1] in ("[", "(", "{")
    truth = isinstance(usual, bool) and text.strip().lower() in TRUTHS
    return truth or NUMBER.fullmatch(text.strip()) is not None or RANGE.match(text) is not None


def _usual(tree: ast.Module) -> dict[str, Any]:
    """Return the names that a cell assigns a number, true or false, or a collection, and nothing else."""
    found: dict[str, Any] = {}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        for target in targets:
            if isinstance(target, ast.Name) and isinstance(node, ast.Assign | ast.AnnAssign):
                found[target.id] = _literal(node.value)
    kinds = (bool, int, float, *COLLECTIONS)
    return {name: value for name, value in found.items() if isinstance(value, kinds)}


def _literal(node: ast.expr | None) -> Any:
    """Return the value of a literal, or of numbers that are calculated with (`2**8`); None for others."""
    try:
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
            left, right = _literal(node.left), _literal(node.right)
            small = all(isinstance(v, int | float) and abs(v) <= LARGEST_OPERAND for v in (left, right))
            return OPERATIONS[type(node.op)](left, right) if small else None
        return ast.literal_eval(node) if node is not None else None
    except (ValueError, TypeError, SyntaxError, ArithmeticError, MemoryError, RecursionError):
        return None


def _where(cell: Cell) -> str:
    """Return ", line 3: invalid syntax" of a cell that can't be parsed."""
    try:
        ast.parse(convert_cell(cell).source)
    except SyntaxError as error:
        return f", line {error.lineno}: {error.msg}"
    except ValueError as error:
        return f": {error}"
    return ""
