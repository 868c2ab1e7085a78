"""No module imports one that imports it, counting late imports and those for types only."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[2]


def imports() -> dict[str, set[str]]:
    """Return, by module, the modules of ours that it imports anywhere in its text."""
    files = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in (ROOT / "dtrain_lab").rglob("*.py")
    }
    graph: dict[str, set[str]] = {module: set() for module in files}
    for module, path in files.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                graph[module] |= {one.name for one in node.names if one.name in files}
            elif isinstance(node, ast.ImportFrom) and node.module:
                inner = {f"{node.module}.{one.name}" for one in node.names}
                graph[module] |= {name if name in files else node.module for name in inner}
        graph[module] = {name for name in graph[module] if name in files} - {module}
    return graph


def test_no_module_imports_one_that_imports_it() -> None:
    graph = imports()
    assert len(graph) > 500
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle = " -> ".join(error.args[1])
        raise AssertionError(f"{cycle}: name what is needed in a Protocol, or move it below both") from None
