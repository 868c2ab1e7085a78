"""Finds out whether a notebook creates torch's process group itself, in its cells or their files. Pure.

An init below `if __name__ == "__main__":` in an imported file never runs, nor does one in a function whose
name is never used.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from msgspec import Struct

INITS = frozenset({"init_process_group", "init_distributed_device"})
"""The second is timm's; it also creates the group, and refuses if one exists."""
OF_IGNITE = frozenset({"idist.Parallel", "idist.initialize", "idist.spawn"})
Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Code(Struct, frozen=True):
    """A syntax tree of the notebook. `as_main`: it is a cell, or a file that a cell runs with `%run`."""

    tree: ast.Module
    as_main: bool


class _Scope(Struct, frozen=True):
    """Names and nodes of one or several trees.

    Attributes:
        at_once: nodes that run when the tree runs, outside of functions.
        defined: its functions and classes, by name.
        modules: names that imports bind.
        given: imported names: name here → name in its module.
        stars: whether unknown names may come from other files.
    """

    at_once: tuple[ast.AST, ...]
    defined: dict[str, list[Defined]]
    modules: frozenset[str]
    given: dict[str, str]
    stars: bool


def makes_group(code: Sequence[Code]) -> bool:
    """Whether cells reach a call that creates the group.

    Args:
        code: the cells that run, and files that they import or run.
    """
    # cells, and files by `%run`, share their names
    scopes = [_scope([part.tree for part in code if part.as_main], as_main=True)]
    scopes += [_scope([part.tree], as_main=False) for part in code if not part.as_main]
    waiting = [(scope, node) for scope in scopes for node in scope.at_once]
    visited: set[int] = set()
    while waiting:
        scope, node = waiting.pop()
        if isinstance(node, ast.Call) and _is_init(node.func, scope):
            return True
        for owner, definition in _named(scope, node, scopes):
            if id(definition) not in visited:
                visited.add(id(definition))
                waiting += [(owner, inner) for inner in ast.walk(definition)]
    return False


def _is_init(function: ast.expr, scope: _Scope) -> bool:
    parts = _parts(function)
    last = scope.given.get(parts[0], parts[0]) if len(parts) == 1 else parts[-1]
    return last in INITS or ".".join(parts[-2:]) in OF_IGNITE


def is_import(function: ast.expr) -> bool:
    """Whether a call of this function imports the module that it is given: `importlib.import_module`."""
    return _parts(function)[-1] in ("import_module", "__import__")


def of_sources(sources: Sequence[str]) -> bool:
    """Whether cells make the group, given their converted sources; one that can't be read makes none."""
    code = []
    for source in sources:
        try:
            code.append(Code(ast.parse(source), as_main=True))
        except (SyntaxError, ValueError):
            continue
    return makes_group(code)


def _parts(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [*_parts(node.value), node.attr]
    return [""]


def _makes_module(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and is_import(value.func)


def _named(scope: _Scope, node: ast.AST, scopes: Sequence[_Scope]) -> Iterator[tuple[_Scope, Defined]]:
    """Yield the functions and classes that a node may refer to."""
    if isinstance(node, ast.Name):
        if node.id in scope.defined:
            yield from ((scope, definition) for definition in scope.defined[node.id])
        elif node.id in scope.given or scope.stars:
            yield from _anywhere(scope.given.get(node.id, node.id), scopes)
    elif isinstance(node, ast.Attribute) and (_parts(node)[0] in scope.modules or _makes_module(node.value)):
        # an attribute of anything else is a method: `model.train()` is not a file's function `train`
        yield from _anywhere(node.attr, scopes)


def _anywhere(name: str, scopes: Sequence[_Scope]) -> Iterator[tuple[_Scope, Defined]]:
    names = {name, *(scope.given[name] for scope in scopes if name in scope.given)}
    for scope in scopes:
        yield from (
            (scope, definition)
            for defined_name in names
            for definition in scope.defined.get(defined_name, ())
        )


def _scope(trees: Sequence[ast.Module], *, as_main: bool) -> _Scope:
    at_once = [node for tree in trees for node in _at_once(tree, as_main)]
    # a reference to a class counts as a reference to all of its methods
    methods = {id(method) for node in at_once if isinstance(node, ast.ClassDef) for method in node.body}
    defined: dict[str, list[Defined]] = {}
    for node in at_once:
        if isinstance(node, Defined) and id(node) not in methods:
            defined.setdefault(node.name, []).append(node)
    modules: set[str] = set()
    stars = False
    imported: dict[str, str] = {}
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Import):
            modules.update(alias.asname or alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            stars = stars or any(alias.name == "*" for alias in node.names)
            imported.update({alias.asname or alias.name: alias.name for alias in node.names})
        elif isinstance(node, ast.Assign) and _makes_module(node.value):
            modules.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return _Scope(tuple(at_once), defined, frozenset(modules | set(imported)), imported, stars)


def _at_once(node: ast.AST, as_main: bool) -> Iterator[ast.AST]:
    """Yield the nodes that run when a file runs: all except those inside functions."""
    if isinstance(node, ast.If) and not as_main and _is_guard(node.test):
        inside: Sequence[ast.AST] = node.orelse
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        inside = [*node.decorator_list, node.args]
    else:
        inside = list(ast.iter_child_nodes(node))
    for child in inside:
        yield child
        yield from _at_once(child, as_main)


def _is_guard(test: ast.expr) -> bool:
    """Whether a condition is `__name__ == "__main__"`."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return False
    sides = [test.left, *test.comparators]
    return any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides) and any(
        isinstance(side, ast.Constant) and side.value == "__main__" for side in sides
    )
