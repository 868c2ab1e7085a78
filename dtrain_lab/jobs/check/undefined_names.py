"""Check for undefined names, in the order in which a job runs the cells."""

from __future__ import annotations

import ast
import builtins
import re
import symtable
from collections.abc import Collection, Sequence

from dtrain_lab.jobs.check.parsed_cells import Parsed
from dtrain_lab.jobs.notebook.source import SKIP, Cell
from dtrain_lab.wire.jobs.finding import Finding

GIVEN = frozenset((
    "rank", "local_rank", "world_size", "device", "display", "os",
    "_run", "_once", "_expanded", "_process", "_shell", "_script", "_write_file", "_run_file",
))  # fmt: skip
"""Names that the preamble of a job's script defines."""
OF_NOTEBOOKS = frozenset(("get_ipython", "In", "Out", "_exit_code"))
"""Names that IPython defines."""
BUILT_IN = frozenset(dir(builtins)) | {"__file__", "__name__", "__doc__", "__builtins__", "__annotations__"}

DEFINES = re.compile(r"^\s*(?:def|class|for)\s+(\w+)|([^\W\d]\w*)\s*(?::[^=\n]*)?=(?!=)", re.MULTILINE)
"""What looks like a definition in text that can't be parsed."""
IMPORTS = re.compile(r"^\s*(?:from\s.*)?import\s+(.*)$", re.MULTILINE)
NAME = re.compile(r"[^\W\d]\w*")


def undefined(
    parsed: Sequence[Parsed],
    kernel: Collection[str] | None,
    parameters: Collection[str],
    *,
    torch: bool = True,
    unparsed: Sequence[tuple[int, Cell]] = (),
) -> list[Finding]:
    """Find names that a cell uses before any cell has defined them.

    A function's free names may be defined anywhere in the notebook, since it may be called later. A notebook
    with `from x import *`, `%run` or `exec` can't be checked.

    Args:
        parsed: the cells that run, in order.
        kernel: names that the running kernel defines; None if there is no kernel.
        parameters: names of the parameters given at submission.
        torch: whether the preamble defines `device`, as it does for torch.
        unparsed: cells with a syntax error, each with the number of `parsed` before it: what their text seems
            to define counts.
    """
    if any(_imports_star(code.tree) or _runs_file(code.tree) or _runs_text(code.tree) for code in parsed):
        return []
    tables = [symtable.symtable(code.source, code.name, "exec") for code in parsed]
    seem = [(before, _seems_to_define(cell.source)) for before, cell in unparsed]
    everywhere = set().union(*(_defined(table) for table in tables), *(names for _, names in seem))
    everywhere |= set(parameters)
    defined = BUILT_IN | (GIVEN if torch else GIVEN - {"device"}) | set(parameters)
    findings: list[Finding] = []
    reported: set[str] = set()
    for index, (code, table) in enumerate(zip(parsed, tables, strict=True)):
        defined = defined.union(*(names for before, names in seem if before <= index))
        here = _defined(table)
        for name, node in _uses_at_top(code.tree):
            if name in defined or name in reported:
                continue
            if name in here and _defined_before(code.tree, name, node):
                continue
            reported.add(name)
            findings.append(_finding(code, name, node, kernel, later=name in everywhere))
        for name, node in _uses_inside(code.tree, table):
            if name not in everywhere and name not in defined and name not in reported:
                reported.add(name)
                findings.append(_finding(code, name, node, kernel, later=False))
        defined |= here
    return findings


def _finding(
    code: Parsed, name: str, node: ast.AST, kernel: Collection[str] | None, *, later: bool
) -> Finding:
    if later:
        return code.finding(
            "problem",
            "defined_later",
            f"{name} is used before it is defined: a job runs the cells from top to bottom.",
            "Move the cell that defines it up.",
            node,
        )
    if kernel is not None and name in kernel:
        return code.finding(
            "problem",
            "hidden_state",
            f"{name} exists in the running kernel, but no cell defines it.",
            "Add a cell that defines it.",
            node,
        )
    if name in OF_NOTEBOOKS:
        return code.finding(
            "problem",
            "undefined_name",
            f"{name} exists only in notebooks, not in a job.",
            f'Write it as Python, or tag the cell "{SKIP}".',
            node,
        )
    return code.finding(
        "problem", "undefined_name", f"{name} is not defined.", "Define it, or correct its name.", node
    )


def _seems_to_define(source: str) -> set[str]:
    """Return the names that a cell with a syntax error seems to define, as its mended text would."""
    names = {name for found in DEFINES.findall(source) for name in found if name}
    for imported in IMPORTS.findall(source):
        names |= set(NAME.findall(imported))
    return names


def _imports_star(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
        for node in ast.walk(tree)
    )


def _runs_file(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "_run_file" for node in ast.walk(tree))


def _runs_text(tree: ast.Module) -> bool:
    """Whether a cell may define names by `exec`, or in `globals()`."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name("exec"), args=[_, ast.Call(func=ast.Name("globals")), *_]):
                return True
            case ast.Call(func=ast.Name("exec"), args=[_]):
                return True
            case ast.Attribute(ast.Call(func=ast.Name("globals")), "update" | "setdefault"):
                return True
            case ast.Subscript(ast.Call(func=ast.Name("globals")), _, ast.Store()):
                return True
    return False


def _defined(table: symtable.SymbolTable) -> set[str]:
    """Return the global names that a cell defines, including those its functions declare `global`."""
    names = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
    for child in table.get_children():
        names |= _declared_global(child)
    return names


def _declared_global(table: symtable.SymbolTable) -> set[str]:
    names = {s.get_name() for s in table.get_symbols() if s.is_declared_global() and s.is_assigned()}
    for child in table.get_children():
        names |= _declared_global(child)
    return names


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _uses_at_top(tree: ast.Module) -> list[tuple[str, ast.AST]]:
    """Return the names read while the cell itself runs, without the bodies of functions, which run later."""
    uses: list[tuple[str, ast.AST]] = []

    def walk(node: ast.AST, bound: frozenset[str]) -> None:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load) and node.id not in bound:
                uses.append((node.id, node))
            return
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for part in (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)):
                walk(part, bound)
            return
        if isinstance(node, ast.Lambda):
            return
        if isinstance(node, ast.ClassDef):
            for part in (*node.decorator_list, *node.bases, *(k.value for k in node.keywords)):
                walk(part, bound)
            return
        if isinstance(node, _COMPREHENSIONS):
            names = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
            bound = bound | names
        if isinstance(node, ast.Try) and any(_catches_name(handler) for handler in node.handlers):
            return
        for child in ast.iter_child_nodes(node):
            walk(child, bound)

    walk(tree, frozenset())
    return uses


def _catches_name(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches NameError: the user's code then tests whether a name exists."""
    caught = ast.unparse(handler.type) if handler.type is not None else "NameError"
    return "NameError" in caught


def _defined_before(tree: ast.Module, name: str, use: ast.AST) -> bool:
    """Whether a statement of the cell, at or before the use, defines the name."""
    place = getattr(use, "lineno", 0), getattr(use, "col_offset", 0)
    for statement in tree.body:
        if (statement.lineno, statement.col_offset) > place:
            break
        inside = place < (statement.end_lineno or 0, statement.end_col_offset or 0)
        simple = isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign)
        if inside and simple:
            continue  # x = x + 1 reads before it writes
        if name in _made_by(statement):
            return True
    return any(
        isinstance(node, ast.NamedExpr) and node.target.id == name
        for node in ast.walk(tree)
        if isinstance(node, ast.NamedExpr)
    )


def _made_by(statement: ast.stmt) -> set[str]:
    table = symtable.symtable(ast.unparse(statement), "statement", "exec")
    return _defined(table)


def _uses_inside(tree: ast.Module, table: symtable.SymbolTable) -> list[tuple[str, ast.AST]]:
    """Return the global names that functions and classes of the cell read."""
    wanted: set[str] = set()

    def collect(child: symtable.SymbolTable) -> None:
        wanted.update(s.get_name() for s in child.get_symbols() if s.is_global() and s.is_referenced())
        for inner in child.get_children():
            collect(inner)

    for child in table.get_children():
        collect(child)
    return [
        (node.id, node)
        for scope in ast.walk(tree)
        if isinstance(scope, _SCOPES)
        for node in ast.walk(scope)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in wanted
    ]
