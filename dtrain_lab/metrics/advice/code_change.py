"""Code of advice: as a call to paste, and as a diff of the user's cell. Pure: code is parsed, never run."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable, Mapping

IMPORT = "import dtrain_lab as dt"
KEYWORDS = {
    "accumulate": lambda values: {"gradient_accumulation_steps": repr(values["every"])},
    "bf16": lambda values: {"gradient_compression": '"bf16"'},
}
"""Id of advice → keywords of `dt.optimize` for its values."""
NUM_WORKERS_AT = 5
"""Position of `num_workers` among the positional arguments of a DataLoader."""
NO_PLACES: Mapping[str, int] = {}


def optimize(**switches: object) -> str:
    """Return the lines that call `dt.optimize` with these options."""
    arguments = ", ".join(f"{k}={_text(v)}" for k, v in switches.items())
    return f"{IMPORT}\nmodel, optimizer = dt.optimize(model, optimizer, {arguments})\n"


def changed(
    code: str,
    advice: str,
    values: Mapping[str, object],
    model: str | None = None,
    *,
    imported: bool = False,
) -> str:
    """Apply advice to a cell.

    Args:
        code: code of the cell, with or without its magic.
        advice: id of the advice.
        values: its values.
        model: name of the DDP model, if another cell creates it.
        imported: whether another cell has imported `dtrain_lab` as `dt`.

    Returns:
        A unified diff of the cell; empty if the change can't be applied to its code.
    """
    magic, body = without_magic(code)
    try:
        tree = ast.parse(body)
    except SyntaxError:  # other magics, or a cell in another language
        return ""
    lines = body.splitlines()
    if advice == "workers":
        new = _with_workers(lines, tree, values["workers"])
    elif advice in KEYWORDS:
        new = _with_optimize(lines, tree, KEYWORDS[advice](values), model, imported)
    else:
        return ""
    if new is None or new == lines or not parses(new):
        return ""
    return unified(magic + lines, magic + new)


def parses(lines: list[str]) -> bool:
    """Whether lines are valid Python."""
    try:
        ast.parse("\n".join(lines))
    except SyntaxError:  # such as a last argument, on its own line, without a comma
        return False
    return True


def without_magic(code: str) -> tuple[list[str], str]:
    """Return the line of a cell's magic, if it has one, and the rest of its code."""
    lines = code.splitlines()
    head = [lines[0]] if lines and lines[0].startswith("%%") else []
    return head, "\n".join(lines[len(head) :])


def unified(before: list[str], after: list[str]) -> str:
    """Return a unified diff of two versions of a cell.

    Args:
        before: Lines of the cell, without line ends.
        after: Lines of the changed cell.
    """
    return "\n".join(difflib.unified_diff(before, after, "cell", "cell", lineterm="", n=2))


def ddp_assignment(tree: ast.AST) -> tuple[str, ast.Assign] | None:
    """Name of the DDP model that a cell creates, and the assignment; None if it creates none."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and called(node.value) in ("DDP", "DistributedDataParallel")
            and isinstance(node.targets[0], ast.Name)
        ):
            return node.targets[0].id, node
    return None


def ddp_name(code: str) -> str | None:
    """Variable name of the DDP model that a cell creates; None if it creates none."""
    try:
        assignment = ddp_assignment(ast.parse(without_magic(code)[1]))
    except SyntaxError:
        return None
    return assignment[0] if assignment is not None else None


def calls_functions_of(code: str, other: str) -> bool:
    """Whether a cell calls a function, or makes an object of a class, that another cell defines.

    Args:
        code: The cell.
        other: The other cell.
    """
    try:
        tree, defining = (ast.parse(without_magic(each)[1]) for each in (code, other))
    except SyntaxError:
        return False
    named = {called(call) for call in _calls(tree, lambda _: True)}
    kinds = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef
    return any(isinstance(node, kinds) and node.name in named for node in ast.walk(defining))


def _with_optimize(
    lines: list[str], tree: ast.Module, keywords: Mapping[str, str], model: str | None, imported: bool
) -> list[str] | None:
    """The lines with a call of `dt.optimize` after the optimizer's, or with more keywords in an existing
    call."""
    calls = _calls(tree, lambda call: ast.unparse(call.func) in ("dt.optimize", "dtrain_lab.optimize"))
    if calls:
        return _with_keywords(lines, calls[0], keywords)
    creation = _optimizer(tree)
    if creation is None:
        return None
    name, optimizer, after = creation
    wrapped = ddp_assignment(tree)
    if wrapped is not None:
        name = wrapped[0]
        # if the model is wrapped after the optimizer is created, in the same block
        if wrapped[1].lineno > after.lineno and wrapped[1].col_offset == after.col_offset:
            after = wrapped[1]
    elif name != model and model is not None and after.col_offset == 0:
        return None  # the optimizer of another model
    arguments = ", ".join(f"{k}={v}" for k, v in keywords.items())
    indent = " " * after.col_offset
    at = after.end_lineno or after.lineno
    new = [
        *lines[:at],
        f"{indent}{name}, {optimizer} = dt.optimize({name}, {optimizer}, {arguments})",
        *lines[at:],
    ]
    has_import = imported or any(re.match(rf"\s*{IMPORT}\b", line) for line in lines)
    return new if has_import else with_import(new, tree, IMPORT)


def imports_lab(code: str) -> bool:
    """Whether a cell's own lines, not those of a function, import `dtrain_lab` as `dt`."""
    return any(re.match(rf"{IMPORT}\b", line) for line in code.splitlines())


def with_import(lines: list[str], tree: ast.Module, line: str) -> list[str]:
    """Return the lines with an import before all others, except `from __future__`, which has to be first.

    Args:
        lines: The changed lines.
        tree: The cell before the change, which has the same first lines.
        line: The import.
    """
    first = [n for n in tree.body if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
    at = (first[-1].end_lineno or 0) if first else 0
    return [*lines[:at], line, *lines[at:]]


def _optimizer(tree: ast.Module) -> tuple[str, str, ast.stmt] | None:
    """Names of the model and of the optimizer of its parameters, and the statement that creates the
    latter."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        target = node.targets[0]
        if isinstance(target, ast.Name):
            for call in _calls(node.value, lambda call: called(call) == "parameters"):
                owner = call.func.value if isinstance(call.func, ast.Attribute) else None
                if isinstance(owner, ast.Name):
                    return owner.id, target.id, node
        names = (
            [e.id for e in target.elts if isinstance(e, ast.Name)] if isinstance(target, ast.Tuple) else []
        )
        if len(names) == 2 and names[1].startswith("opt"):  # `model, optimizer = make()`
            return names[0], names[1], node
    return None


def _with_workers(lines: list[str], tree: ast.Module, count: object) -> list[str] | None:
    """The lines with `num_workers` in the call that creates the loader; None unless there is one such
    call."""
    calls = _calls(tree, lambda call: called(call) == "DataLoader")
    if len(calls) != 1:
        return None
    wanted = {"num_workers": repr(count), "persistent_workers": "True"}
    return _with_keywords(lines, calls[0], wanted, {"num_workers": NUM_WORKERS_AT})


def _with_keywords(
    lines: list[str], call: ast.Call, keywords: Mapping[str, str], places_of: Mapping[str, int] = NO_PLACES
) -> list[str] | None:
    """The lines with keywords of a call added or replaced; None if `*` or `**` may hold them.

    Args:
        lines: the cell's lines.
        call: the call.
        keywords: name of each keyword → code of its value.
        places_of: keywords that may be given by position → index.
    """
    if any(k.arg is None for k in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    current = {k.arg: k.value for k in call.keywords}
    current |= {name: call.args[at] for name, at in places_of.items() if at < len(call.args)}
    new = [line.encode() for line in lines]  # positions of the syntax tree count bytes
    missing = "".join(f", {k}={v}" for k, v in keywords.items() if k not in current)
    places = [(call.end_lineno, (call.end_col_offset or 1) - 1, 0, missing)]
    for name, text in keywords.items():
        old = current.get(name)
        if old is not None:
            if old.end_lineno != old.lineno:
                return None
            places.append((old.lineno, old.col_offset, (old.end_col_offset or 0) - old.col_offset, text))
    for number, at, length, text in sorted(places, reverse=True):
        line = new[(number or 1) - 1]
        before = line[:at]
        if text is missing and length == 0:
            before = _unended(before) if before.strip() else before
            text = text if before.strip() else text.removeprefix(", ")
        new[(number or 1) - 1] = before + text.encode() + line[at + length :]
    return [line.decode() for line in new]


def _unended(text: bytes) -> bytes:
    """Remove the comma after the last argument."""
    return text.rstrip().removesuffix(b",")


def _calls(tree: ast.AST, wanted: Callable[[ast.Call], bool]) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and wanted(node)]


def called(call: ast.Call) -> str:
    """Return the name of a called function, without its module or object."""
    return ast.unparse(call.func).rpartition(".")[2]


def _text(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)
