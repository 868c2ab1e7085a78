"""Check of the parameters given at submission: names that the notebook lacks, and values of another type."""

from __future__ import annotations

import ast
import json
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dtrain_lab.jobs.check.parsed_cells import parse
from dtrain_lab.jobs.notebook.source import PARAMETERS, Cell
from dtrain_lab.wire.jobs.finding import Finding

NUMBER = re.compile(
    r"[-+−–]?[.,]?\d[\d.,;_'\s*/ol]*(e[-+−–]?[\d.,ol]*)?[a-z%]?|[-+]?(inf|infinity|nan)", re.IGNORECASE
)
"""A text that looks like a number, or like a mistyped one: "0,1", "1e-3x", "1O"."""
TRUTHS = ("true", "false", "yes", "no", "on", "off")
OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip
COLLECTIONS = (list, tuple, dict, set)
LARGEST_OPERAND = 1e4
"""Powers of larger operands could take long to compute."""
MOST_BITS = 1000
"""Longer integers are not realistic parameters, and can't be written in a message."""


def tagged(cells: Sequence[Cell]) -> Cell | None:
    """Return the cell tagged `parameters`; None without one."""
    return next((cell for cell in cells if cell.runs and PARAMETERS in cell.tags), None)


def usual(cells: Sequence[Cell]) -> dict[str, Any]:
    """Return the numbers, booleans and collections that the tagged cell assigns, by name.

    Args:
        cells: cells of the notebook.
    """
    cell = tagged(cells)
    parsed = parse(cell) if cell is not None else None
    found: dict[str, Any] = {}
    for node in parsed.tree.body if parsed is not None else ():
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        for target in targets:
            if isinstance(target, ast.Name) and isinstance(node, ast.Assign | ast.AnnAssign):
                found[target.id] = _literal(node.value)
    kinds = (bool, int, float, *COLLECTIONS)
    return {name: value for name, value in found.items() if isinstance(value, kinds)}


def strings(notebook: Mapping[str, Any], given: Mapping[str, Iterable[Any]], field: str) -> list[Finding]:
    """Find strings given to parameters that have another type in the notebook.

    Args:
        notebook: its values, as `usual` returns them.
        given: values that each parameter gets.
        field: the request's field that contains them.

    Returns:
        At most one finding per parameter. A string for a number is a problem, and so is one that looks like
        a boolean or a list; others are a warning: a notebook with `weights = False` may accept a string.
    """
    found = []
    for name, values in given.items():
        texts = [value for value in values if isinstance(value, str)] if name in notebook else []
        if not texts:
            continue
        has = notebook[name]
        wrong = next((text for text in texts if _is_wrong(text, has)), None)
        text = texts[0] if wrong is None else wrong
        said = f'{name} is set to the string "{text}"; the notebook has {has!r}.'
        if wrong is not None:
            fix = _instead(text, has)
            found.append(Finding("problem", "bad_value", said, fix, field=field, parameter=name))
        else:
            fix = f"The notebook will receive the string. Correct it if {_kind(has)} was meant."
            found.append(Finding("warning", "string_value", said, fix, field=field, parameter=name))
    return found


def fractions(notebook: Mapping[str, Any], given: Mapping[str, Iterable[Any]], field: str) -> list[Finding]:
    """Find fractions given to parameters that are integers in the notebook.

    Between 0 and 1 there is no other integer: `dropout = 0` and `lr = 1` are probably meant as fractions.

    Args:
        notebook: its values, as `usual` returns them.
        given: values that each parameter gets.
        field: the request's field that contains them.

    Returns:
        At most one warning per parameter.
    """
    found = []
    for name, values in given.items():
        has = notebook.get(name)
        if isinstance(has, bool) or not isinstance(has, int):
            continue
        parts = [v for v in values if isinstance(v, float) and not v.is_integer() and math.isfinite(v)]
        odd = next((value for value in parts if has not in (0, 1) or abs(value) > 1), None)
        if odd is not None:
            said = f"{name} is set to {odd}; the notebook has the whole number {has}."
            fix = "Correct it if a whole number was meant, as for epochs or layers."
            found.append(Finding("warning", "fractions", said, fix, field=field, parameter=name))
    return found


def _is_wrong(text: str, has: Any) -> bool:
    """Whether a string is a mistake: for a number always, for other types if it looks mistyped."""
    if isinstance(has, COLLECTIONS):
        return text.strip()[:1] in ("[", "(", "{")
    if isinstance(has, bool):
        return text.strip().lower() in TRUTHS or NUMBER.fullmatch(text.strip()) is not None
    return True


def _instead(text: str, has: Any) -> str:
    """Hint on what to give instead of a string."""
    if isinstance(has, bool | list | tuple | dict | set):
        return f"Give {_kind(has)}."
    try:
        number = json.loads(text)
    except ValueError:
        number = None
    if isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number):
        return f"Give {text.strip()} without quotes."
    return f"Give a number, such as {has!r}."


def _kind(has: Any) -> str:
    """The type of a boolean or collection, for messages."""
    if isinstance(has, bool):
        return "true or false"
    return "a dictionary" if isinstance(has, dict) else "a list"


def _literal(node: ast.expr | None) -> Any:
    """Return the value of a literal, or of a calculation with numbers (`2**8`); None for others."""
    try:
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
            left, right = _literal(node.left), _literal(node.right)
            small = all(isinstance(v, int | float) and abs(v) <= LARGEST_OPERAND for v in (left, right))
            value = OPERATIONS[type(node.op)](left, right) if small else None
            return None if isinstance(value, int) and value.bit_length() > MOST_BITS else value
        return ast.literal_eval(node) if node is not None else None
    except (ValueError, TypeError, SyntaxError, ArithmeticError, MemoryError, RecursionError):
        return None
