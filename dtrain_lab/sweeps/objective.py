"""Checks whether a notebook passes a sweep's objective to `dt.log`, in cells or files beside it. Pure."""

from __future__ import annotations

import ast
import keyword
import posixpath
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dtrain_lab.jobs.check.known_packages import PLAIN
from dtrain_lab.jobs.check.local_modules import TORCH
from dtrain_lab.jobs.check.parsed_cells import Parsed, dotted
from dtrain_lab.placement.frameworks import names
from dtrain_lab.text.lists import listed
from dtrain_lab.wire.jobs.finding import Finding

PACKAGE = "dtrain_lab"
OWN = ("step", "average")
"""Arguments of `dt.log` itself."""
RUNS_OTHERS = ("subprocess", "runpy", "pty", "code")
SILENT = frozenset().union(
    sys.stdlib_module_names, PLAIN, TORCH, *names.MODULES.values(),
    ("datasets", "einops", "evaluate", "safetensors", "timm", "torchmetrics"),
) - frozenset(RUNS_OTHERS)  # fmt: skip
"""Modules known not to call `dt.log`."""
GIVES_OTHERS = ("builtins", "importlib", "sys", "os", "operator", "inspect", "gc", "ctypes", "types")
"""Modules that don't call `dt.log` either, but through which code that does can be found by name."""
DYNAMIC = ("exec", "eval", "__import__", "vars", "globals", "locals")
DYNAMIC_CALLS = ("os.system", "os.popen", "builtins.exec", "builtins.eval")
DYNAMIC_METHODS = ("import_module", "run_path", "run_module", "run_cell", "run_cell_magic", "__import__")
DYNAMIC_NAMES = ("log", "modules", "system", "popen", *DYNAMIC, *DYNAMIC_METHODS)
"""Names that `getattr` must not access."""


class _Bindings(NamedTuple):
    """Names that imports bind: `packages` to dtrain-lab, `functions` to its `log`, `silent` to others."""

    packages: frozenset[str]
    functions: frozenset[str]
    silent: frozenset[str]


class _Calls:
    """Findings so far.

    `names`: names passed to `dt.log`. `call`: its first call in a cell. `unsure`: other code that could
    report the objective, but can't be followed.
    """

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self.call: tuple[str, int] | None = None
        self.unsure = ""

    def doubt(self, source: str) -> None:
        """Note code that may report the objective, unless other code was noted before."""
        self.unsure = self.unsure or source


def can_be(name: str) -> bool:
    """Whether `dt.log` can be called with a value of this name."""
    return name.isidentifier() and not keyword.iskeyword(name) and name not in OWN


def finding(parsed: Sequence[Parsed], objective: str) -> Finding | None:
    """Find the calls of `dt.log` that report an objective.

    Args:
        parsed: Cells of the notebook that run, and files beside it that they import.
        objective: Name of the objective.

    Returns:
        None if a call passes it; a problem if none can; a warning if code that can't be followed may.
    """
    logged = _Calls()
    bound = frozenset(name for code in parsed for name in _packages(code.tree))
    in_cells = frozenset(name for code in parsed if code.cell is not None for name in _functions(code.tree))
    silent = frozenset(name for code in parsed for name in _silent(code.tree)) - bound
    own_modules = {code.file.split("/")[0].removesuffix(".py") for code in parsed if code.cell is None}
    files = {code.file for code in parsed if code.cell is None}
    for code in parsed:
        functions = in_cells if code.cell is not None else frozenset(_functions(code.tree))
        _read(code, _Bindings(bound, functions, silent), files, logged)
        if code.cell is None and functions:  # a cell may have imported it from there, under any name
            logged.doubt(code.file)
        for name in _tops(code.tree):
            if name not in SILENT and name not in own_modules and name != PACKAGE:
                logged.doubt(f"the module {name}")
    if objective in logged.names:
        return None
    cell, line = logged.call or (None, None)
    names_logged = (
        f"dt.log is called with {', '.join(logged.names)}"
        if logged.names
        else "no cell calls dt.log with a name"
    )
    if logged.unsure:
        return Finding(
            "warning",
            "no_objective",
            f'No call of dt.log with "{objective}" was found: {names_logged}.',
            f"The sweep ends after its first trial unless {logged.unsure} reports it.",
            cell,
            line,
            "objective",
        )
    others = f", or optimize {listed(logged.names, 'or')}" if logged.names else ""
    return Finding(
        "problem",
        "no_objective",
        f'No trial would report "{objective}": {names_logged}.',
        f"Call dt.log(step, {objective}=…) in the notebook{others}.",
        cell,
        line,
        "objective",
    )


def _packages(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a cell or file binds to the package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.asname or PACKAGE for a in node.names if a.name == PACKAGE)


def _silent(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a cell or file binds to objects of modules that can't lead to `dt.log`."""
    silent = SILENT - frozenset(GIVES_OTHERS)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if (top := alias.name.split(".")[0]) in silent:
                    yield alias.asname or top
        elif isinstance(node, ast.ImportFrom):
            top = (node.module or "").split(".")[0]
            yield from (a.asname or a.name for a in node.names if top in silent and not node.level)


def _functions(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a cell or file binds to the package's function `log`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
            yield from (
                "log" if a.name == "*" else a.asname or a.name for a in node.names if a.name in ("log", "*")
            )


def _read(code: Parsed, bindings: _Bindings, files: set[str], logged: _Calls) -> None:
    called: set[int] = set()
    for node in ast.walk(code.tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            _read_import(node, bindings, logged)
        elif isinstance(node, ast.Call):
            name = dotted(node.func)
            if name in ("_shell", "_script"):
                logged.doubt("a shell command")
            elif _is_dynamic(node, name, files, bindings):
                logged.doubt("code that is generated or loaded at run time")
            elif _is_log(name, bindings):
                called.add(id(node.func))
                if code.cell is not None:
                    logged.call = logged.call or (code.name, node.lineno)
                _read_call(node, logged)
    of_package = {id(node.value) for node in ast.walk(code.tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(code.tree):
        if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
            continue
        name = dotted(node)
        if id(node) not in called and _is_log(name, bindings):
            logged.doubt("code that knows dt.log by another name")
        elif name.rpartition(".")[2] in bindings.packages and id(node) not in of_package:
            logged.doubt(f"code that knows {name} by another name")
        elif _is_inside(node, bindings):
            logged.doubt(name)
        elif name == "sys.modules":
            logged.doubt("code that is generated or loaded at run time")


def _read_import(node: ast.Import | ast.ImportFrom, bindings: _Bindings, logged: _Calls) -> None:
    """Note an import of the package's own modules, or of the package from another module, as uncertain."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.startswith(f"{PACKAGE}."):
                logged.doubt(f"the module {alias.name}")
        return
    module = node.module or ""
    for alias in node.names:
        if module.startswith(f"{PACKAGE}.") or (module == PACKAGE and alias.name == "training"):
            logged.doubt(f"the module {module if module != PACKAGE else f'{PACKAGE}.training'}")
        elif alias.name in bindings.packages and alias.asname not in (None, *bindings.packages):
            logged.doubt(f"code that knows {alias.name} by another name")


def _is_dynamic(call: ast.Call, name: str, files: set[str], bindings: _Bindings) -> bool:
    """Whether a call runs code that was not read; `files`: paths of files that were."""
    if name == "_run_file":
        path = call.args[0] if call.args else None
        return not (isinstance(path, ast.Constant) and posixpath.normpath(str(path.value)) in files)
    if name == "getattr":
        attribute = call.args[1] if len(call.args) > 1 else None
        if call.args and dotted(call.args[0]).split(".")[0] in bindings.silent:  # as getattr(F, activation)
            return False
        return not isinstance(attribute, ast.Constant) or attribute.value in (
            *DYNAMIC_NAMES,
            *bindings.packages,
        )
    return name in DYNAMIC or name in DYNAMIC_CALLS or name.rpartition(".")[2] in DYNAMIC_METHODS


def _is_inside(node: ast.Name | ast.Attribute, bindings: _Bindings) -> bool:
    """Whether it is the package's own module `training`, which also has `log`, or a private module."""
    if not isinstance(node, ast.Attribute) or dotted(node.value) not in bindings.packages:
        return False
    return node.attr == "training" or (node.attr.startswith("_") and node.attr != "__version__")


def _is_log(name: str, bindings: _Bindings) -> bool:
    holder, dot, last = name.rpartition(".")
    if not dot:
        return name in bindings.functions
    # a module beside the notebook, or a star import, may re-export the package
    return last == "log" and holder.rpartition(".")[2] in bindings.packages | {"dt", PACKAGE}


def _read_call(call: ast.Call, logged: _Calls) -> None:
    for argument in call.keywords:
        if argument.arg is not None:
            if argument.arg not in OWN:
                logged.names[argument.arg] = None
        elif isinstance(argument.value, ast.Dict) and all(
            isinstance(key, ast.Constant) and isinstance(key.value, str) for key in argument.value.keys
        ):
            logged.names |= {key.value: None for key in argument.value.keys if isinstance(key, ast.Constant)}  # type: ignore[misc]
        else:
            logged.doubt(f"**{ast.unparse(argument.value)}")


def _tops(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]
