"""Check for checkpoints that are saved but never loaded: a resumed job would start from the beginning."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from dtrain_lab.jobs.check.parsed_cells import Parsed
from dtrain_lab.jobs.environment_variables import CHECKPOINTS
from dtrain_lab.wire.jobs.finding import Finding

NEVER_LOADED = "checkpoint_never_loaded"
"""Code of the finding."""
PACKAGE = "dtrain_lab"
FOLDER = ("checkpoint_dir", CHECKPOINTS, "checkpoints")
"""Names and texts that indicate code which finds checkpoints by itself."""


def never_loaded(parsed: Sequence[Parsed], files: Sequence[Parsed] = ()) -> list[Finding]:
    """Find calls of `dt.checkpoint` in a notebook that never reads a checkpoint.

    Code that names the folder of checkpoints and loads something is assumed to read them.

    Args:
        parsed: The cells that run.
        files: Files of the notebook's folder that it imports.

    Returns:
        At most one note, at the first call.
    """
    every = [*parsed, *files]
    if any(_reads_latest(code.tree) for code in every):
        return []
    if any(_names_folder(code.tree) for code in every) and any(_loads(code.tree) for code in every):
        return []
    packages, functions = _imported(every)
    for code in every:
        for node in ast.walk(code.tree):
            if isinstance(node, ast.Call) and _saves(node.func, packages, functions):
                return [
                    code.finding(
                        "note",
                        NEVER_LOADED,
                        "This notebook saves checkpoints but never loads one: a resumed or retried job would "
                        "start from the beginning.",
                        "Load dt.latest_checkpoint() before training, if it is not None.",
                        node,
                    )
                ]
    return []


def any_never_loaded(findings: Iterable[Finding]) -> bool:
    """Whether the check found checkpoints that are never loaded."""
    return any(finding.code == NEVER_LOADED for finding in findings)


def _imported(every: Sequence[Parsed]) -> tuple[set[str], set[str]]:
    """Names of the package, and of its function `checkpoint`."""
    packages, functions = {PACKAGE}, set()
    for node in _nodes(every):
        if isinstance(node, ast.Import):
            packages |= {a.asname for a in node.names if a.name == PACKAGE and a.asname}
        elif isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
            functions |= {a.asname or a.name for a in node.names if a.name in ("checkpoint", "*")}
    return packages, {"checkpoint" if name == "*" else name for name in functions}


def _nodes(every: Sequence[Parsed]) -> Iterator[ast.AST]:
    for code in every:
        yield from ast.walk(code.tree)


def _saves(called: ast.AST, packages: set[str], functions: set[str]) -> bool:
    if isinstance(called, ast.Name):
        return called.id in functions
    return (
        isinstance(called, ast.Attribute)
        and called.attr == "checkpoint"
        and isinstance(called.value, ast.Name)
        and called.value.id in packages
    )


def _reads_latest(tree: ast.AST) -> bool:
    return any(
        (isinstance(node, ast.Name) and node.id == "latest_checkpoint")
        or (isinstance(node, ast.Attribute) and node.attr == "latest_checkpoint")
        or (isinstance(node, ast.alias) and node.name == "latest_checkpoint")
        for node in ast.walk(tree)
    )


def _names_folder(tree: ast.AST) -> bool:
    return any(
        (isinstance(node, ast.Constant) and isinstance(node.value, str) and _in_text(node.value))
        or (isinstance(node, ast.Name) and node.id == FOLDER[0])
        or (isinstance(node, ast.Attribute) and node.attr == FOLDER[0])
        for node in ast.walk(tree)
    )


def _in_text(text: str) -> bool:
    return any(name in text for name in FOLDER)


def _loads(tree: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Call) and _name(node.func).startswith(("load", "read", "restore", "from_"))
        for node in ast.walk(tree)
    )


def _name(called: ast.AST) -> str:
    """Last part of a called name, also if it is an attribute of a call's result: `Model().load`."""
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""
