"""Whether a notebook passes a sweep's objective to `dt.log`, in its cells or in files beside it. Pure."""

from __future__ import annotations

import ast
import keyword
import posixpath
import sys
from collections.abc import Iterator, Sequence

from dtrain_lab.jobs.check.known_packages import PLAIN
from dtrain_lab.jobs.check.local_modules import TORCH
from dtrain_lab.jobs.check.parsed import Parsed, dotted
from dtrain_lab.placement.frameworks import names
from dtrain_lab.wire.jobs.finding import Finding

PACKAGE = "dtrain_lab"
OWN = ("step", "average")
"""Arguments of `dt.log` itself."""
SILENT = frozenset().union(
    sys.stdlib_module_names, PLAIN, TORCH, *names.MODULES.values(),
    ("datasets", "einops", "evaluate", "safetensors", "timm", "torchmetrics"),
)  # fmt: skip
"""Modules known not to call `dt.log`."""
DYNAMIC = ("exec", "eval", "__import__")
DYNAMIC_METHODS = ("import_module", "run_path", "run_module", "run_cell", "run_cell_magic")


class _Seen:
    """What was found so far.

    `names`: passed to `dt.log`. `call`: the first call of it in a cell. `unsure`: what else could report the
    objective, and can't be read here.
    """

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self.call: tuple[str, int] | None = None
        self.unsure = ""


def can_be(name: str) -> bool:
    """Whether `dt.log` can be called with a value of this name."""
    return name.isidentifier() and not keyword.iskeyword(name) and name not in OWN


def finding(parsed: Sequence[Parsed], objective: str) -> Finding | None:
    """Look for the calls of `dt.log` that report an objective.

    Args:
        parsed: Cells of the notebook that run, and files beside it that they import.
        objective: Name that is sought.

    Returns:
        None if a call passes it; a problem if none can; a warning if one may that can't be read here.
    """
    seen = _Seen()
    cells = _known_as([one.tree for one in parsed if one.cell is not None])
    own = {one.file.split("/")[0].removesuffix(".py") for one in parsed if one.cell is None}
    files = {one.file for one in parsed if one.cell is None}
    for one in parsed:
        known = cells if one.cell is not None else _known_as([one.tree])
        _read(one, known, files, seen)
        if one.cell is None and known[1]:  # a cell may have it from there, under any name
            seen.unsure = seen.unsure or one.file
        unknown = next((name for name in _tops(one.tree) if name not in SILENT and name not in own), None)
        if unknown is not None:
            seen.unsure = seen.unsure or f"the module {unknown}"
    if objective in seen.names:
        return None
    cell, line = seen.call or (None, None)
    said = f"dt.log gets {', '.join(seen.names)}" if seen.names else "no cell calls dt.log with a name"
    if seen.unsure:
        return Finding(
            "warning",
            "no_objective",
            f'No call of dt.log with "{objective}" was found: {said}.',
            f"The sweep ends after its first trial unless {seen.unsure} reports it.",
            cell,
            line,
            "objective",
        )
    others = f", or seek {' or '.join(seen.names)}" if seen.names else ""
    return Finding(
        "problem",
        "no_objective",
        f'No trial would report "{objective}": {said}.',
        f"Call dt.log(step, {objective}=…) in the notebook{others}.",
        cell,
        line,
        "objective",
    )


def _known_as(trees: Sequence[ast.AST]) -> tuple[set[str], set[str]]:
    """Names of the package, and of its function `log`, as imports bind them."""
    packages, functions = {"dt", PACKAGE}, set()  # as a module beside the notebook may hand them on, too
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                packages |= {a.asname or a.name for a in node.names if a.name == PACKAGE}
            elif isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
                functions |= {a.asname or a.name for a in node.names if a.name in ("log", "*")}
    return packages, {"log" if name == "*" else name for name in functions}


def _read(one: Parsed, known: tuple[set[str], set[str]], files: set[str], seen: _Seen) -> None:
    packages, functions = known
    called: set[int] = set()
    for node in ast.walk(one.tree):
        if not isinstance(node, ast.Call):
            continue
        name = dotted(node.func)
        if _is_dynamic(node, name, files):
            seen.unsure = seen.unsure or "code that is made or read while it runs"
        if _is_log(name, packages, functions):
            called.add(id(node.func))
            if one.cell is not None:
                seen.call = seen.call or (one.name, node.lineno)
            _read_call(node, seen)
    for node in ast.walk(one.tree):
        if isinstance(node, ast.Name | ast.Attribute) and id(node) not in called:
            is_read = isinstance(node.ctx, ast.Load)
            if is_read and _is_log(dotted(node), packages, functions):
                seen.unsure = seen.unsure or "what dt.log is handed to"


def _is_dynamic(call: ast.Call, name: str, files: set[str]) -> bool:
    """Whether a call runs code that is not among what was read; `files`: paths of those that were."""
    if name == "_run_file":
        path = call.args[0] if call.args else None
        return not (isinstance(path, ast.Constant) and posixpath.normpath(str(path.value)) in files)
    return name in DYNAMIC or name.rpartition(".")[2] in DYNAMIC_METHODS


def _is_log(name: str, packages: set[str], functions: set[str]) -> bool:
    holder, dot, last = name.rpartition(".")
    if not dot:
        return name in functions
    return last == "log" and (holder in packages or holder.rpartition(".")[2] in packages)


def _read_call(call: ast.Call, seen: _Seen) -> None:
    for given in call.keywords:
        if given.arg is not None:
            if given.arg not in OWN:
                seen.names[given.arg] = None
        elif isinstance(given.value, ast.Dict) and all(
            isinstance(key, ast.Constant) and isinstance(key.value, str) for key in given.value.keys
        ):
            seen.names |= {key.value: None for key in given.value.keys if isinstance(key, ast.Constant)}  # type: ignore[misc]
        else:
            seen.unsure = f"**{ast.unparse(given.value)}"


def _tops(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]
