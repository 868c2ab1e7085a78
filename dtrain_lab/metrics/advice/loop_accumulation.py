"""Accumulates batches in a cell's own loop, in plain torch. Pure: the code is parsed, and never run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dtrain_lab.metrics.advice.code_change import (
    called,
    ddp_assignment,
    parses,
    unified,
    with_import,
    without_magic,
)

OWN_GRADIENTS = {"unscale_", "clip_grad_norm_", "clip_grad_value_", "scale"}
"""Calls that read or scale gradients: in each batch they would change sums that aren't complete."""
COUNTER, GROUP, LAST = "batch_number", "group_size", "ends_group"
"""Names that the changed loop adds: number of the batch, size of its group, and whether it ends the group."""
WRAPPERS = {"enumerate", "tqdm"}
"""Calls that yield the elements of their first argument one by one."""
SIZED = {"DataLoader", "prepare", "list", "tuple", "sorted", "range"}
"""Calls whose result has a length."""


def accumulate(code: str, model: str | None = None, every: int = 2) -> str:
    """Change a training loop so that it sends the gradients of several batches together.

    Args:
        code: code of the cell, with or without its magic.
        model: name of the DDP model, if another cell creates it.
        every: number of batches.

    Returns:
        A unified diff of the cell; empty if its loop is not understood, or if the number of batches is
        unknown before the loop's end: the last group of an epoch may be smaller, and has to step, too.
    """
    magic, body = without_magic(code)
    try:
        tree = ast.parse(body)
    except SyntaxError:  # other magics, or a cell in another language
        return ""
    loop = _loop(tree)
    assignment = ddp_assignment(tree)
    name = (
        _used_in(loop, tree, assignment[0] if assignment is not None else model) if loop is not None else None
    )
    if name is None or loop is None or not _is_plain(loop, name, body):
        return ""
    lines = body.splitlines()
    total = _total(loop.iter, tree)
    changed = _changed(lines, loop, name, every, total) if total else None
    if changed is None or not parses(changed):
        return ""
    changed = with_import(changed, tree, "from contextlib import nullcontext")
    return unified(magic + lines, magic + changed)


def _used_in(loop: ast.For, tree: ast.Module, name: str | None) -> str | None:
    """The model's name inside the loop; in a training function that is the name of its parameter."""
    used = {n.func.id for n in ast.walk(loop) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    if name in used:
        return name
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(n is loop for n in ast.walk(node)) and name:
            return next((a.arg for a in node.args.args if a.arg in used), None)
    return None


def _loop(tree: ast.Module) -> ast.For | None:
    """The innermost loop that calls backward."""
    last = None
    for node in ast.walk(tree):
        if isinstance(node, ast.For) and any(_calls(s, "backward") for s in node.body):
            last = node
    return last


def _calls(node: ast.AST, method: str) -> bool:
    return any(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == method
        for n in ast.walk(node)
    )


def _is_plain(loop: ast.For, model: str, code: str) -> bool:
    """Whether a loop has the usual order: `zero_grad` before the model, one `backward`, then `step`.

    Any other loop would have to be understood as a whole: a change at the wrong place trains wrongly, unseen.
    """
    body = loop.body
    ends = [i for i, s in enumerate(body) if _calls(s, "backward")]
    if len(ends) != 1 or body[0].lineno == loop.lineno or any(n in code for n in (COUNTER, GROUP, LAST)):
        return False
    if any(isinstance(n, ast.Constant | ast.JoinedStr) and n.end_lineno != n.lineno for n in ast.walk(loop)):
        return False  # lines inside a string can't be indented
    if any(_leaves(s) for s in body):
        return False  # a group that is left incomplete would be lost
    names = {
        n.func.attr if isinstance(n.func, ast.Attribute) else n.func.id
        for n in ast.walk(loop)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute | ast.Name)
    }
    if names & OWN_GRADIENTS:
        return False
    optimizing = [i for i, s in enumerate(body) if _calls(s, "step") or _calls(s, "zero_grad")]
    if not all(_without_arguments(body[i]) for i in optimizing):
        return False
    sharing = [i for i in range(1, len(body)) if body[i].lineno == body[i - 1].end_lineno]
    if any(i - 1 <= ends[0] or not {i - 1, i} <= set(optimizing) for i in sharing):
        return False  # only `opt.step(); opt.zero_grad()` can be moved as one line
    before = max((i for i in optimizing if i < ends[0]), default=-1)
    if any(_calls(body[i], "step") for i in optimizing if i < ends[0]):
        return False
    return not any(isinstance(n, ast.Name) and n.id == model for s in body[: before + 1] for n in ast.walk(s))


def _leaves(node: ast.AST) -> bool:
    """Whether a statement may end an iteration of its loop early."""
    if isinstance(node, ast.Continue | ast.Break | ast.Return):
        return True
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return False
    inside = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.For | ast.While):  # its own `continue` and `break` leave only itself
        return any(isinstance(n, ast.Return) for n in ast.walk(node)) or any(_leaves(n) for n in node.orelse)
    return any(_leaves(n) for n in inside)


def _without_arguments(statement: ast.stmt) -> bool:
    """Whether a statement is a single call of `step` or `zero_grad`, without a closure."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.args:
        return False
    return call.func.attr in ("step", "zero_grad") and not _calls(call.func.value, "backward")


def _changed(lines: list[str], loop: ast.For, model: str, every: int, total: str) -> list[str] | None:
    """The lines with the loop changed; None if its statements are not in the usual order."""
    body = loop.body
    end = next(i for i, s in enumerate(body) if _calls(s, "backward"))
    simple = _scaled(body[end]) != ""
    steps = [i for i, s in enumerate(body) if _calls(s, "step") or _calls(s, "zero_grad")]
    if not simple or loop.orelse or not any(i > end and _calls(body[i], "step") for i in steps):
        return None
    counter, header = _counter(lines, loop)
    indent = " " * body[0].col_offset
    new = [
        *lines[: loop.lineno - 1],
        *header,
        f"{indent}{GROUP} = min({every}, {total} - {counter} // {every} * {every})  # fewer at the end",
        f"{indent}{LAST} = {counter} % {every} == {GROUP} - 1",
    ]
    at = loop.body[0].lineno
    synced = range(max((i for i in steps if i < end), default=-1) + 1, end + 1)
    for index, statement in enumerate(body):
        mine = lines[at - 1 : (statement.end_lineno or at)]
        at = (statement.end_lineno or at) + 1
        if not mine:  # moved with the statement before, whose line it shares
            continue
        if index in steps:
            first = f"{counter} % {every} == 0" if index <= end else LAST
            new += [f"{indent}if {first}:", *_deeper(mine)]
            continue
        if index == synced.start:
            new.append(f"{indent}with nullcontext() if {LAST} else {model}.no_sync():")
        if index == end:
            mine = [f"{indent}{_scaled(statement)}"]
        new += _deeper(mine) if index in synced else mine
    new += lines[at - 1 :]
    return new


def _scaled(statement: ast.stmt) -> str:
    """`loss.backward()` with the loss divided; empty for other statements."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return ""
    loss = ast.unparse(call.func.value)
    return f"({loss} / {GROUP}).{ast.unparse(call).removeprefix(loss + '.')}"


def _total(iterated: ast.expr, tree: ast.Module) -> str | None:
    """Code of the number of batches of a loop; None if that is not certain before its end."""
    while isinstance(iterated, ast.Call) and iterated.args and called(iterated) in WRAPPERS:
        iterated = iterated.args[0]
    if _is_named(iterated):
        if any(not _is_sized(value) for value in _assigned(ast.unparse(iterated), tree)):
            return None
        return f"len({ast.unparse(iterated)})"
    if not isinstance(iterated, ast.Call) or ast.unparse(iterated.func) != "range" or iterated.keywords:
        return None
    if not all(isinstance(a, ast.Constant) or _is_named(a) for a in iterated.args):
        return None
    return ast.unparse(iterated.args[0]) if len(iterated.args) == 1 else f"len({ast.unparse(iterated)})"


def _assigned(name: str, tree: ast.Module) -> Iterator[ast.expr]:
    """Values that a cell assigns to a name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                yield from (value for part, value in _pairs(target, node.value) if ast.unparse(part) == name)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Single targets of an assignment with their values; the whole value if it can't be split."""
    if not isinstance(target, ast.Tuple | ast.List):
        yield target, value
        return
    parts = value.elts if isinstance(value, ast.Tuple | ast.List) else [value] * len(target.elts)
    for part, its in zip(target.elts, parts, strict=False):
        yield from _pairs(part, its)


def _is_sized(value: ast.expr) -> bool:
    """Whether a value is assumed to have a length; an iterator, such as `islice`, has none."""
    return called(value) in SIZED if isinstance(value, ast.Call) else not isinstance(value, ast.GeneratorExp)


def _is_named(node: ast.expr) -> bool:
    """Whether an expression is a variable, or an attribute of one."""
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and _is_named(node.value))


def _deeper(lines: list[str]) -> list[str]:
    return [f"    {line}" if line.strip() else line for line in lines]


def _counter(lines: list[str], loop: ast.For) -> tuple[str, list[str]]:
    """Name of the variable that counts batches, and the loop's header, changed to count them if necessary."""
    header = lines[loop.lineno - 1 : loop.body[0].lineno - 1]
    call, target = loop.iter, loop.target
    if (
        isinstance(call, ast.Call)
        and ast.unparse(call.func) == "enumerate"
        and len(call.args) == 1
        and not call.keywords
        and isinstance(target, ast.Tuple)
        and isinstance(target.elts[0], ast.Name)
    ):
        return target.elts[0].id, header
    items = ast.unparse(target)
    items = f"({items})" if isinstance(target, ast.Tuple) and not items.startswith("(") else items
    indent = " " * loop.col_offset
    return COUNTER, [f"{indent}for {COUNTER}, {items} in enumerate({ast.unparse(call)}):"]
