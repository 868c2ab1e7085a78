"""Check of parameters that the notebook does not have; one rule for jobs and sweeps."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable, Iterator, Sequence

from dtrain_lab.jobs.check.parsed import Parsed, parse
from dtrain_lab.jobs.check.values import tagged
from dtrain_lab.jobs.notebook.source import PARAMETERS, Cell
from dtrain_lab.wire.jobs.finding import Finding

EXPANDED = re.compile(r"\$([^\W\d]\w*)|\{([^{}]*)")
"""What IPython expands in a shell line: `$name` and `{expression}`."""
NAME = re.compile(r"[^\W\d]\w*")


def unknown(cells: Sequence[Cell], given: Iterable[str], field: str) -> list[Finding]:
    """Find parameters that a notebook doesn't have, so that their values have no effect.

    A notebook has a parameter if its tagged cell assigns it, or if a cell reads it and none assigns it: then
    only the given value defines it.

    Args:
        cells: cells of the notebook.
        given: names of the parameters.
        field: the request's field that contains them.

    Returns:
        A warning for each; none where a cell can't be parsed. Code that only a module or `globals()` reads is
        not seen. A job and the fixed values of a sweep run nevertheless; a sweep can't vary such a name.
    """
    running = [parse(cell) for cell in cells if cell.runs]
    parsed = [one for one in running if one is not None]
    if len(parsed) < len(running):  # it may assign or read anything
        return []
    cell = tagged(cells)
    first = parse(cell) if cell is not None else None
    known = _stored(first.tree) if first is not None else set()
    read = {name for one in parsed for name in _read(one.tree)}
    after = parsed[parsed.index(first) + 1 :] if first is not None else parsed
    found = []
    for name in given:
        if name in known:
            continue
        over = next((one for one in after if _overwrites(one.tree, name)), None)
        if name in read and over is None:
            continue
        said = f"The notebook has no parameter {name}, and none of its cells reads that name."
        fix = _fix(name, sorted(known))
        if over is not None:
            said, fix = _overwritten(name, over, cell)
        found.append(Finding("warning", "no_such_parameter", said, fix, field=field, parameter=name))
    return found


def _fix(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    if near:
        return f"Did you mean {near[0]}?"
    if known:
        return f"It has {', '.join(known)}."
    return f'Add the tag "{PARAMETERS}" to the cell that assigns them (property inspector, Cell Tags).'


def _overwritten(name: str, over: Parsed, cell: Cell | None) -> tuple[str, str]:
    """Return message and remedy for a parameter that a cell assigns after its value was set."""
    said = f"Cell {over.name} assigns {name}, which overwrites the given value."
    if cell is None:
        return said, f'Add the tag "{PARAMETERS}" to that cell (property inspector, Cell Tags).'
    return said, f'Assign {name} in cell {cell.name}, which is tagged "{PARAMETERS}".'


def _stored(tree: ast.AST) -> set[str]:
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return {node.id for node in names if isinstance(node.ctx, ast.Store)}


def _read(tree: ast.AST) -> Iterator[str]:
    """Yield the names that code reads, in shell lines, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "_expanded":
            text = node.args[0]
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                for name, expression in EXPANDED.findall(text.value):
                    yield from NAME.findall(name or expression)


def _overwrites(tree: ast.Module, name: str) -> bool:
    """Whether a cell assigns a name in any case, and not from its own value (`epochs = int(epochs)`)."""
    for statement in tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets = [statement.target]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return name not in _read(statement)
    return False
