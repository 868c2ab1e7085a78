"""Finds calls of Keras' `fit` and similar methods, by following where each model was created."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from dtrain_lab.jobs.check.local_modules import Module, absolute, at_once
from dtrain_lab.jobs.check.parsed_cells import Parsed, dotted, named

Given = Mapping[str, frozenset[str]]
"""Module of the notebook's folder → its names that refer to Keras or its objects."""

FAILING = {"fit": "fit", "evaluate": "evaluate", "train_on_batch": "train"}
"""Methods of a Keras 3 model that fail under MultiWorkerMirroredStrategy → what they do; `predict` works."""


class Fit(Struct, frozen=True):
    """A call of a method in `FAILING`. `certain`: the notebook shows that the model is Keras'."""

    cell: Parsed
    node: ast.Call
    certain: bool

    @property
    def what(self) -> str:
        """Verb for messages: what the call does with its model."""
        return FAILING[self.node.func.attr] if isinstance(self.node.func, ast.Attribute) else ""


def calls(cells: Sequence[Parsed], files: Sequence[Module] = ()) -> list[Fit]:
    """Return the calls of methods in `FAILING`, in a notebook and its files; none if it does not use Keras.

    Args:
        cells: the cells that run.
        files: files of the notebook's folder that it imports.
    """
    nodes = [node for code in cells for node in ast.walk(code.tree)]
    of_files = {file.name: list(ast.walk(file.tree)) for file in files}
    if not any(
        isinstance(node, ast.Name | ast.Attribute | ast.alias | ast.ImportFrom) and _is_keras(named(node))
        for node in itertools.chain(nodes, *of_files.values())
    ):
        return []
    given: Given = {}
    names_in: dict[str, frozenset[str]] = {}
    while True:  # files import one another
        names_in = {f.name: _keras_names(of_files[f.name], given, f.package) for f in files}
        exported = {f.name: names_in[f.name] & _names_at_top(f.tree) for f in files}
        if exported == given:
            break
        given = exported
    scopes = [(code, _keras_names(nodes, given, "")) for code in cells]
    scopes += [(file.parsed, names_in[file.name]) for file in files]
    return [
        Fit(code, node, _is_keras_object(node.func.value, names))
        for code, names in scopes
        for node in ast.walk(code.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in FAILING
    ]


def _names_at_top(tree: ast.Module) -> frozenset[str]:
    """Return what others can import from a file."""
    names: set[str] = set()
    for node in at_once(tree):
        match node:
            case ast.ClassDef(name):
                names.add(name)
            case ast.Assign(targets):
                names.update(filter(None, map(dotted, targets)))
            case ast.AnnAssign(target):
                names.add(dotted(target))
            case ast.Import(aliases) | ast.ImportFrom(_, aliases):
                names.update(alias.asname or alias.name for alias in aliases)
    names.update(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(names)


def _is_keras(name: str) -> bool:
    return "keras" in name.split(".")


def _keras_names(nodes: Sequence[ast.AST], given: Given, package: str) -> frozenset[str]:
    """Return the names that refer to Keras: modules, classes, models, and functions that return a model.

    Args:
        nodes: nodes of the cells, or of a file.
        given: such names of the notebook's files.
        package: the package to which relative imports are relative.
    """
    names: frozenset[str] = frozenset()
    while True:
        more = names | {name for node in nodes for name in _names_given(node, names, given, package)}
        if more == names:
            return names
        names = more


def _names_given(node: ast.AST, keras_names: frozenset[str], given: Given, package: str) -> Iterator[str]:
    """Yield the names that a statement binds to Keras or its objects."""
    match node:
        case ast.Import(names):
            yield from (alias.asname for alias in names if alias.asname and _is_keras(alias.name))
            for alias in names:
                yield from (f"{alias.asname or alias.name}.{name}" for name in given.get(alias.name, ()))
        case ast.ImportFrom(names=names):
            module = absolute(node.module, node.level, package)
            for alias in names:
                if _is_keras(f"{module}.{alias.name}") or alias.name in given.get(module, ()):
                    yield alias.asname or alias.name
                elif alias.name == "*":
                    yield from given.get(module, ())
                else:  # a module of a package
                    inner = given.get(f"{module}.{alias.name}".strip("."), ())
                    yield from (f"{alias.asname or alias.name}.{name}" for name in inner)
        case ast.Assign(targets, value) if _is_keras_object(value, keras_names):
            yield from filter(None, map(dotted, targets))
        case ast.AnnAssign(target, annotation, value):
            if _is_keras_object(annotation, keras_names) or (
                value is not None and _is_keras_object(value, keras_names)
            ):
                yield dotted(target)
        case ast.NamedExpr(target, value) if _is_keras_object(value, keras_names):
            yield target.id
        case ast.arg(name, annotation) if annotation is not None and _is_keras_object(
            annotation, keras_names
        ):
            yield name
        case ast.ClassDef(name, bases) if any(_is_keras_object(base, keras_names) for base in bases):
            yield name
        case ast.FunctionDef(name):
            returned = [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Return)]
            if any(value is not None and _is_keras_object(value, keras_names) for value in returned):
                yield name


def _is_keras_object(value: ast.expr, names: frozenset[str]) -> bool:
    """Whether an expression refers to Keras or its objects, or calls them."""
    if isinstance(value, ast.Call):
        return _is_keras_object(value.func, names)
    if isinstance(value, ast.IfExp):
        return _is_keras_object(value.body, names) or _is_keras_object(value.orelse, names)
    name = dotted(value)
    parts = name.split(".")
    return _is_keras(name) or any(".".join(parts[:count]) in names for count in range(1, len(parts) + 1))
