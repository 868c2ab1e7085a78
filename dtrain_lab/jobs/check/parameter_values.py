"""Check of the values given at submission for parameters that have another type in the notebook."""

from __future__ import annotations

import ast
import json
import math
import operator
import re
import unicodedata
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
MOST_WHOLE = 2**53
"""Floats up to this one represent every integer, so that 1e3 is 1000 and nothing else."""


def tagged(cells: Sequence[Cell]) -> Cell | None:
    """Return the cell tagged `parameters`; None without one."""
    return next((cell for cell in cells if cell.runs and PARAMETERS in cell.tags), None)


def usual(cells: Sequence[Cell]) -> dict[str, Any]:
    """Return the numbers, booleans, strings and collections that the tagged cell assigns, by name.

    Args:
        cells: cells of the notebook.
    """
    cell = tagged(cells)
    parsed = parse(cell) if cell is not None else None
    defaults: dict[str, Any] = {}
    for node in parsed.tree.body if parsed is not None else ():
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        for target in targets:
            if isinstance(target, ast.Name) and isinstance(node, ast.Assign | ast.AnnAssign):
                defaults[target.id] = _literal(node.value)
    kinds = (bool, int, float, str, *COLLECTIONS)
    return {name: value for name, value in defaults.items() if isinstance(value, kinds)}


def whole(cells: Sequence[Cell], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return given values, with 1e3 as the integer 1000 where the notebook has an integer.

    Args:
        cells: cells of the notebook.
        given: value of each parameter.

    Returns:
        The values; those that differ only in type are replaced. `range(1000.0)` is an error in Python.
    """
    notebook = usual(cells)
    converted = dict(given)
    for name, value in given.items():
        has = notebook.get(unicodedata.normalize("NFKC", name))  # as Python reads names
        if _is_integer(has) and isinstance(value, float) and value.is_integer() and abs(value) <= MOST_WHOLE:
            converted[name] = int(value)
    return converted


def mismatches(notebook: Mapping[str, Any], given: Mapping[str, Iterable[Any]], field: str) -> list[Finding]:
    """Find values whose type differs from the one that the parameter has in the notebook.

    Args:
        notebook: its values, as `usual` returns them.
        given: values that each parameter gets.
        field: the request's field that contains them.

    Returns:
        What `strings`, `fractions` and `other_types` find.
    """
    kinds = (strings, fractions, other_types)
    return [finding for find in kinds for finding in find(notebook, given, field)]


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
    findings = []
    for name, values in given.items():
        has = notebook.get(name)
        texts = [value for value in values if isinstance(value, str)]
        if not texts or has is None or isinstance(has, str):
            continue
        wrong = next((text for text in texts if _is_wrong(text, has)), None)
        text = texts[0] if wrong is None else wrong
        message = f'{name} is set to the string "{text}"; the notebook has {has!r}.'
        if wrong is not None:
            fix = _instead(text, has)
            findings.append(Finding("problem", "bad_value", message, fix, field=field, parameter=name))
        else:
            fix = f"The notebook will receive the string. Correct it if {kind_of(has)} was meant."
            findings.append(Finding("warning", "string_value", message, fix, field=field, parameter=name))
    return findings


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
    findings = []
    for name, values in given.items():
        has = notebook.get(name)
        if not _is_integer(has):
            continue
        parts = [v for v in values if isinstance(v, float) and not v.is_integer() and math.isfinite(v)]
        odd = next((value for value in parts if has not in (0, 1) or abs(value) > 1), None)
        if odd is not None:
            message = f"{name} is set to {odd}; the notebook has the whole number {has}."
            fix = "Correct it if a whole number was meant, as for epochs or layers."
            findings.append(Finding("warning", "fractions", message, fix, field=field, parameter=name))
    return findings


def other_types(notebook: Mapping[str, Any], given: Mapping[str, Iterable[Any]], field: str) -> list[Finding]:
    """Find values other than strings given to parameters that have another type in the notebook.

    0 and 1 may stand for booleans, and booleans for them.

    Args:
        notebook: its values, as `usual` returns them.
        given: values that each parameter gets.
        field: the request's field that contains them.

    Returns:
        At most one warning per parameter: what the notebook does with such a value, only it knows.
    """
    findings = []
    for name, values in given.items():
        has = notebook.get(name)
        others = [v for v in values if not isinstance(v, str) and kind_of(v) != kind_of(has)]
        if has is None or not (odd := [v for v in others if not (_is_truth(v) and _is_truth(has))]):
            continue
        value = odd[0]
        message = f"{name} is set to {value!r}; the notebook has {shown(has)}."
        quotes = isinstance(has, str) and isinstance(value, int | float) and not isinstance(value, bool)
        fix = f'Write "{value!r}", in quotes,' if quotes else "Correct it"
        fix = f"{fix} if {kind_of(has)} was meant."
        findings.append(Finding("warning", "other_type", message, fix, field=field, parameter=name))
    return findings


def kind_of(value: Any) -> str:
    """Return the type of a value as messages have it: "a number", "True or False".

    Args:
        value: value of a parameter, in the notebook or given.
    """
    if isinstance(value, bool):
        return "True or False"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    if value is None:
        return "None"
    return "a dictionary" if isinstance(value, dict) else "a list"


def shown(value: Any) -> str:
    """Return a value as messages have it: a string in double quotes, others as Python writes them.

    Args:
        value: value of a parameter in the notebook.
    """
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _is_integer(value: Any) -> bool:
    """Whether a value is an integer, and no boolean."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_truth(value: Any) -> bool:
    """Whether a value is a boolean, or a number that may stand for one."""
    return isinstance(value, int | float) and value in (0, 1)


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
        return f"Give {kind_of(has)}."
    try:
        number = json.loads(text)
    except ValueError:
        number = None
    if isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number):
        return f"Give {text.strip()} without quotes."
    return f"Give a number, such as {has!r}."


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
