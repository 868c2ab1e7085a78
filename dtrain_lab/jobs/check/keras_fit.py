"""Calls of `fit`, and whether each is Keras': what stands for a model is followed from where it was made."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from msgspec import Struct

from dtrain_lab.jobs.check.parsed import Parsed, dotted, named


class Fit(Struct, frozen=True):
    """A call of `fit`. `certain`: it is that of a Keras model, as the notebook shows."""

    cell: Parsed
    node: ast.Call
    certain: bool


def calls(parsed: Sequence[Parsed]) -> list[Fit]:
    """Return the calls of `fit` in a notebook that uses Keras; none in others.

    Args:
        parsed: the cells that run.
    """
    nodes = [node for one in parsed for node in ast.walk(one.tree)]
    if not any(
        isinstance(node, ast.Name | ast.Attribute | ast.alias | ast.ImportFrom) and _is_keras(named(node))
        for node in nodes
    ):
        return []
    known = _known(nodes)
    return [
        Fit(one, node, _stands_for(node.func.value, known))
        for one in parsed
        for node in ast.walk(one.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "fit"
    ]


def _is_keras(name: str) -> bool:
    return "keras" in name.split(".")


def _known(nodes: Sequence[ast.AST]) -> frozenset[str]:
    """Return the names of what comes from Keras: modules, classes, models, functions that make one."""
    known: frozenset[str] = frozenset()
    while True:
        found = known | {name for node in nodes for name in _told(node, known)}
        if found == known:
            return known
        known = found


def _told(node: ast.AST, known: frozenset[str]) -> Iterator[str]:
    """Yield the names that a statement gives to something of Keras."""
    match node:
        case ast.Import(names):
            yield from (alias.asname for alias in names if alias.asname and _is_keras(alias.name))
        case ast.ImportFrom(module, names):
            for alias in names:
                if _is_keras(f"{module or ''}.{alias.name}"):
                    yield alias.asname or alias.name
        case ast.Assign(targets, value) if _stands_for(value, known):
            yield from filter(None, map(dotted, targets))
        case ast.AnnAssign(target, annotation, value):
            if _stands_for(annotation, known) or (value is not None and _stands_for(value, known)):
                yield dotted(target)
        case ast.NamedExpr(target, value) if _stands_for(value, known):
            yield target.id
        case ast.arg(name, annotation) if annotation is not None and _stands_for(annotation, known):
            yield name
        case ast.ClassDef(name, bases) if any(_stands_for(base, known) for base in bases):
            yield name
        case ast.FunctionDef(name):
            returned = [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Return)]
            if any(value is not None and _stands_for(value, known) for value in returned):
                yield name


def _stands_for(value: ast.expr, known: frozenset[str]) -> bool:
    """Whether an expression is something of Keras, or a call of that."""
    if isinstance(value, ast.Call):
        return _stands_for(value.func, known)
    if isinstance(value, ast.IfExp):
        return _stands_for(value.body, known) or _stands_for(value.orelse, known)
    name = dotted(value)
    parts = name.split(".")
    return _is_keras(name) or any(".".join(parts[:count]) in known for count in range(1, len(parts) + 1))
