"""Check of parameters that the notebook does not have; one rule for jobs and sweeps."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from dtrain_lab.jobs.check.parameter_values import tagged
from dtrain_lab.jobs.check.parsed_cells import Parsed, parse
from dtrain_lab.jobs.notebook.source import PARAMETERS, Cell
from dtrain_lab.text import suggestions
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
    parsed = [code for code in running if code is not None]
    if len(parsed) < len(running):  # it may assign or read anything
        return []
    cell = tagged(cells)
    first = parse(cell) if cell is not None else None
    defined = _stored(first.tree) if first is not None else set()
    read = {name for code in parsed for name in _read(code.tree)}
    after = parsed[parsed.index(first) + 1 :] if first is not None else parsed
    findings = []
    for name in given:
        if name in defined:
            continue
        over = next((code for code in after if _overwrites(code.tree, name)), None)
        if name in read and over is None:
            continue
        message = f"The notebook has no parameter {name}, and none of its cells reads that name."
        fix = _fix(name, sorted(defined))
        if over is not None:
            message, other = _overwritten(name, over, cell)
            fix = fix if fix.startswith("Did you mean") else other
        findings.append(Finding("warning", "no_such_parameter", message, fix, field=field, parameter=name))
    return findings


def _fix(name: str, defined: Sequence[str]) -> str:
    if meant := suggestions.did_you_mean(name, defined):
        return meant
    if defined:
        return f"It has {', '.join(defined)}."
    return f'Add the tag "{PARAMETERS}" to the cell that assigns them (property inspector, Cell Tags).'


def _overwritten(name: str, over: Parsed, cell: Cell | None) -> tuple[str, str]:
    """Return message and remedy for a parameter that a cell assigns after its value was set."""
    message = f"Cell {over.name} assigns {name}, which overwrites the given value."
    if cell is None:
        return message, f'Add the tag "{PARAMETERS}" to that cell (property inspector, Cell Tags).'
    return message, f'Assign {name} in cell {cell.name}, which is tagged "{PARAMETERS}".'


def _stored(tree: ast.AST) -> set[str]:
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return {node.id for node in names if isinstance(node.ctx, ast.Store)}


def _read(tree: ast.AST) -> Iterator[str]:
    """Yield the names that code reads, in shell lines, too; not those that a function has of its own."""
    local = _own(tree)
    for node in ast.iter_child_nodes(tree):
        yield from (name for name in _read(node) if name not in local)
    if isinstance(tree, ast.Name) and isinstance(tree.ctx, ast.Load):
        yield tree.id
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "_expanded":
        text = tree.args[0]
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            for name, expression in EXPANDED.findall(text.value):
                yield from NAME.findall(name or expression)


def _own(tree: ast.AST) -> set[str]:
    """Return arguments and variables of a function, or variables of a comprehension; else nothing."""
    if isinstance(tree, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return {name for part in tree.generators for name in _stored(part.target)}
    if not isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return set()
    nodes = list(ast.walk(tree))
    outer = {n for node in nodes if isinstance(node, ast.Global | ast.Nonlocal) for n in node.names}
    return (_stored(tree) | {node.arg for node in nodes if isinstance(node, ast.arg)}) - outer


def _overwrites(tree: ast.Module, name: str) -> bool:
    """Whether a cell assigns a name in any case, and not from its own value (`epochs = int(epochs)`)."""
    for statement in tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets = [statement.target]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return name not in _read(statement)
    return name in _looped(tree)


def _looped(tree: ast.AST) -> Iterator[str]:
    """Yield the variables of loops that are not inside a function or class."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(node, ast.For | ast.AsyncFor):
            yield from _stored(node.target)
        yield from _looped(node)
