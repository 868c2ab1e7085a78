"""Imports between modules."""

from __future__ import annotations

import ast
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
