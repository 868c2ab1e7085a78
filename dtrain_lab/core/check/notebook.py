"""All checks of a notebook, together."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator, Sequence

from msgspec import Struct

from dtrain_lab.core.check import machine, names, training
from dtrain_lab.core.check.parsed import Parsed, parse
from dtrain_lab.core.finding import Finding
from dtrain_lab.core.notebook.source import Cell

ORDER = {"problem": 0, "warning": 1, "note": 2}


class Around(Struct, frozen=True):
    """What is known of the notebook's surroundings.

    Attributes:
        ranks: of the job.
        kernel: names that the running kernel has; None where there is none.
        missing: modules that the job's environment lacks.
        files: of the notebook's folder that travel with the job, relative.
        shared: the nodes see the notebook's own folder.
        parameters: names given at submission.
    """

    ranks: int = 1
    kernel: frozenset[str] | None = None
    missing: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    shared: bool = False
    parameters: frozenset[str] = frozenset()


def check(cells: Sequence[Cell], around: Around) -> tuple[Finding, ...]:
    """Look at a notebook.

    Args:
        cells: of the notebook.
        around: what is known besides.

    Returns:
        Findings, problems first, then in the notebook's order.
    """
    parsed = [one for cell in cells if cell.runs and (one := parse(cell)) is not None]
    found = [
        *names.undefined(parsed, around.kernel, around.parameters),
        *_missing(parsed, around.missing),
        *machine.files(parsed, around.files, shared=around.shared),
        *machine.habits(parsed),
        *training.apart(parsed, around.ranks),
        *training.samplers(parsed),
        *training.keras(parsed),
    ]
    places = {cell.name: index for index, cell in enumerate(cells)}
    return tuple(sorted(found, key=lambda f: (ORDER[f.severity], places.get(f.cell or "", -1), f.line or 0)))


def imports(cells: Sequence[Cell]) -> dict[str, tuple[str, int]]:
    """Top-level modules that a notebook imports, with the cell and line of the first import.

    Imports inside `try` or a function are left out: the notebook can do without them, or may never call it;
    and modules that it writes itself.
    """
    found: dict[str, tuple[str, int]] = {}
    parsed = [one for cell in cells if cell.runs and (one := parse(cell)) is not None]
    own = {name for one in parsed for name in _written(one.tree)}
    for one in parsed:
        for node in _at_once(one.tree):
            modules = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules = [node.module]
            for module in (name.split(".")[0] for name in modules):
                if module not in own:
                    found.setdefault(module, (one.cell.name, node.lineno))  # type: ignore[attr-defined]
    return found


def _written(tree: ast.AST) -> Iterator[str]:
    """Modules that a cell makes itself, by %%writefile."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name("_write_file"), args=[ast.Constant(str(path)), *_]):
                yield posixpath.normpath(path).split("/")[0].removesuffix(".py")


def _at_once(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes that run with the cell itself, whatever happens."""
    for child in ast.iter_child_nodes(tree):
        if not isinstance(child, ast.Try | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from _at_once(child)


def _missing(parsed: Sequence[Parsed], missing: frozenset[str]) -> list[Finding]:
    wanted = imports([one.cell for one in parsed])
    return [
        Finding(
            "problem",
            "module_missing",
            f"The job's environment has no {module}.",
            f"Install it there: pip install {module}",
            *wanted[module],
        )
        for module in sorted(missing)
        if module in wanted
    ]
