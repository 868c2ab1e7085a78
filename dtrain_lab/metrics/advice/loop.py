"""Accumulates batches in a cell's own loop, in plain torch. Pure: the code is parsed, and never run."""

from __future__ import annotations

import ast

from dtrain_lab.metrics.advice.code import ddp_assignment, parses, unified, without_magic

OWN_GRADIENTS = {"unscale_", "clip_grad_norm_", "clip_grad_value_", "scale", "update"}
"""Calls that look at gradients, or scale them: in each batch they would change sums that aren't complete."""
COUNTER = "batch_number"


def accumulate(code: str, model: str | None = None, every: int = 2) -> str:
    """Change a training loop so that it sends the gradients of several batches together.

    Args:
        code: code of the cell, with or without its magic.
        model: name of the DDP model, if another cell makes it.
        every: number of batches.

    Returns:
        A unified diff of the cell; empty where its loop is not understood.
    """
    magic, body = without_magic(code)
    try:
        tree = ast.parse(body)
    except SyntaxError:  # other magics, or a cell in another language
        return ""
    loop = _loop(tree)
    made = ddp_assignment(tree)
    name = _used_in(loop, tree, made[0] if made is not None else model) if loop is not None else None
    if name is None or loop is None or not _is_plain(loop, name, body):
        return ""
    lines = body.splitlines()
    changed = _changed(lines, loop, name, every)
    if changed is None or not parses(changed):
        return ""
    return unified(magic + lines, magic + changed)


def _used_in(loop: ast.For, tree: ast.Module, known: str | None) -> str | None:
    """The model's name inside the loop; in a training function that is the name of its parameter."""
    called = {n.func.id for n in ast.walk(loop) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    if known in called:
        return known
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(n is loop for n in ast.walk(node)) and known:
            return next((a.arg for a in node.args.args if a.arg in called), None)
    return None


def _loop(tree: ast.Module) -> ast.For | None:
    """The innermost loop that calls backward."""
    found = None
    for node in ast.walk(tree):
        if isinstance(node, ast.For) and any(_calls(s, "backward") for s in node.body):
            found = node
    return found


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
    if len(ends) != 1 or body[0].lineno == loop.lineno or COUNTER in code:
        return False
    called = {
        n.func.attr if isinstance(n.func, ast.Attribute) else n.func.id
        for n in ast.walk(loop)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute | ast.Name)
    }
    if called & OWN_GRADIENTS:
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


def _without_arguments(statement: ast.stmt) -> bool:
    """Whether a statement is one call of `step` or `zero_grad`, and has no closure that is called often."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.args:
        return False
    return call.func.attr in ("step", "zero_grad") and not _calls(call.func.value, "backward")


def _changed(lines: list[str], loop: ast.For, model: str, every: int) -> list[str] | None:
    """The lines with the loop changed; None where its statements are not in the usual order."""
    body = loop.body
    end = next(i for i, s in enumerate(body) if _calls(s, "backward"))
    simple = _scaled(body[end], every) != ""
    steps = [i for i, s in enumerate(body) if _calls(s, "step") or _calls(s, "zero_grad")]
    if not simple or loop.orelse or not any(i > end and _calls(body[i], "step") for i in steps):
        return None
    counter, header = _counter(lines, loop)
    last = f"{counter} % {every} == {every - 1}"
    indent = " " * body[0].col_offset
    new = [*lines[: loop.lineno - 1], *header]
    at = loop.body[0].lineno
    synced = range(max((i for i in steps if i < end), default=-1) + 1, end + 1)
    for index, statement in enumerate(body):
        mine = lines[at - 1 : (statement.end_lineno or at)]
        at = (statement.end_lineno or at) + 1
        if not mine:  # moved with the statement before, whose line it shares
            continue
        if index in steps:
            first = f"{counter} % {every} == 0" if index <= end else last
            new += [f"{indent}if {first}:", *_deeper(mine)]
            continue
        if index == synced.start:
            new.append(f"{indent}with nullcontext() if {last} else {model}.no_sync():")
        if index == end:
            mine = [f"{indent}{_scaled(statement, every)}"]
        new += _deeper(mine) if index in synced else mine
    new += lines[at - 1 :]
    return ["from contextlib import nullcontext", *new]


def _scaled(statement: ast.stmt, every: int) -> str:
    """`loss.backward()` with the loss divided; empty for other statements."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return ""
    loss = ast.unparse(call.func.value)
    return f"({loss} / {every}).{ast.unparse(call).removeprefix(loss + '.')}"


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
