"""Top-level `await`: a script has no running event loop, so the preamble's `_run` awaits instead."""

from __future__ import annotations

import ast
import re

from msgspec import Struct


class Awaited(Struct, frozen=True):
    """A cell without top-level `await`.

    `changed`: it needs `_run`. `left`: line and kind ("async for", …) of what can't be replaced.
    """

    source: str
    changed: bool = False
    left: tuple[tuple[int, str], ...] = ()


def without_awaits(source: str) -> Awaited:
    """Replace `await x` by `_run(x)` outside functions; line numbers don't change.

    Args:
        source: source of a cell, plain Python except for top-level `await`.
    """
    try:
        tree = compile(source, "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError):  # already reported by the conversion of magics
        return Awaited(source)
    nodes: list[ast.AST] = []
    _find(tree, nodes)
    awaits = [node for node in nodes if isinstance(node, ast.Await)]
    kinds = {ast.AsyncFor: "async for", ast.AsyncWith: "async with"}
    left = tuple(
        (getattr(node, "lineno", 1), kinds.get(type(node), "async comprehensions"))
        for node in nodes
        if not isinstance(node, ast.Await)
    )
    return Awaited(_replaced(source, awaits), bool(awaits), left)


def _find(node: ast.AST, nodes: list[ast.AST]) -> None:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.Await | ast.AsyncFor | ast.AsyncWith):
            nodes.append(child)
        elif isinstance(child, ast.comprehension) and child.is_async:
            nodes.append(node)
        _find(child, nodes)


def _replaced(source: str, awaits: list[ast.Await]) -> str:
    """Replace the last `await` first, so that the positions of the others stay valid; columns are bytes."""
    lines = source.split("\n")
    for node in sorted(awaits, key=lambda n: (n.lineno, n.col_offset), reverse=True):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        last = lines[node.end_lineno - 1].encode()
        end = node.end_col_offset
        lines[node.end_lineno - 1] = (last[:end] + b")" + last[end:]).decode()
        first = lines[node.lineno - 1].encode()
        at = node.col_offset
        lines[node.lineno - 1] = (first[:at] + re.sub(rb"^await\s*", b"_run(", first[at:])).decode()
    return "\n".join(lines)
