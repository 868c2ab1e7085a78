"""Check of launcher calls (`mp.spawn`, `notebook_launcher` …) whose process count differs from the job's.

Loops over `Process(target=…)` are launchers, too, where the function makes a process group.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from dtrain_lab.jobs.check.parsed_cells import Parsed, last
from dtrain_lab.jobs.notebook.process_group import Code, makes_group
from dtrain_lab.text import rank_names
from dtrain_lab.text.units import counted
from dtrain_lab.wire.jobs.finding import Finding

NUMBERS = {
    "notebook_launcher": ("num_processes", 2, 0),
    "debug_launcher": ("num_processes", 2, 2),
    "spawn": ("nprocs", 2, 1),
    "start_processes": ("nprocs", 2, 1),
    "Parallel": ("nproc_per_node", 1, 0),
}
"""Function → its argument for the number of processes, the argument's position, and its default (0: all)."""
IGNITE = "nproc_per_node"
MODULES = ("multiprocessing", "accelerate", "ignite")
LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


def sizes(parsed: Sequence[Parsed], ranks: int, ranks_per_node: int) -> list[Finding]:
    """Find launchers whose number of processes is neither the job's number of ranks nor a node's.

    Args:
        parsed: cells of the notebook.
        ranks: number of the job's ranks.
        ranks_per_node: ranks per node; 0 if unknown.
    """
    if not any(module in code.source for code in parsed for module in MODULES):
        return []
    numbers = {name: value for code in parsed for name, value in _numbers(code.tree)}
    findings = []
    for code in parsed:
        for node in ast.walk(code.tree):
            asked = _launch_argument(node, numbers) if isinstance(node, ast.Call) else None
            if asked is None:
                continue
            name, argument, count = asked
            if count in (0, ranks, ranks_per_node):
                continue
            starts = counted(count, "process", "processes")
            findings.append(
                code.finding(
                    "problem",
                    "launcher_size",
                    f"{name} starts {starts}; the job has {rank_names.count(ranks)}, and "
                    f"{name} runs in them.",
                    f"Give {argument} as world_size, or submit with {rank_names.count(count)}.",
                    node,
                )
            )
        for loop, count in _loops_of_ranks(code, parsed, numbers):
            if count in (ranks, ranks_per_node):
                continue
            findings.append(
                code.finding(
                    "problem",
                    "launcher_size",
                    f"This starts {counted(count, 'process', 'processes')} with a process group; the job has "
                    f"{rank_names.count(ranks)}, and each rank runs the function itself.",
                    f"Count to world_size, or submit with {rank_names.count(count)}.",
                    loop,
                )
            )
    return findings


def _loops_of_ranks(
    code: Parsed, parsed: Sequence[Parsed], numbers: dict[str, int]
) -> Iterator[tuple[ast.AST, int]]:
    """Yield loops that start a process for a rank in each iteration, with their number of iterations."""
    for node in ast.walk(code.tree):
        if isinstance(node, ast.For):
            inside: Sequence[ast.AST] = node.body
            over = node.iter
        elif isinstance(node, ast.ListComp | ast.GeneratorExp) and len(node.generators) == 1:
            inside, over = [node.elt], node.generators[0].iter
        else:
            continue
        if not isinstance(over, ast.Call) or last(over.func) != "range" or len(over.args) != 1:
            continue
        count = _integer(over.args[0], numbers)
        calls = [call for part in inside for call in _in_each_pass(part) if isinstance(call, ast.Call)]
        if any(last(call.func) == "join" and not call.args for call in calls):
            continue  # one process after the other
        targets = [
            keyword.value
            for call in calls
            if last(call.func) == "Process"
            for keyword in call.keywords
            if keyword.arg == "target"
        ]
        if count is not None and any(_is_rank(target, parsed) for target in targets):
            yield node, count


def _in_each_pass(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a loop's body that run once per iteration, which excludes inner loops."""
    if isinstance(node, LOOPS):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _in_each_pass(child)


def _is_rank(target: ast.expr, parsed: Sequence[Parsed]) -> bool:
    """Whether a process's function creates a process group, itself or through functions of the notebook."""
    defined = [part for code in parsed for part in code.tree.body if isinstance(part, DEFINES)]
    return makes_group([Code(ast.Module([*defined, ast.Expr(target)], []), as_main=True)])


def _launch_argument(call: ast.Call, numbers: dict[str, int]) -> tuple[str, str, int] | None:
    """Return a launcher's name, its argument and the value; None for other calls and unknown values."""
    name = last(call.func)
    if name not in NUMBERS:
        return None
    argument, place, usual = NUMBERS[name]
    value: ast.expr | None = call.args[place] if len(call.args) > place else None
    for keyword in call.keywords:
        if keyword.arg in (argument, IGNITE):
            argument, value = keyword.arg, keyword.value
        elif keyword.arg is None:  # **options
            return None
    if value is None:
        return name, argument, usual
    count = _integer(value, numbers)
    return None if count is None else (name, argument, count)


def _integer(value: ast.expr, numbers: dict[str, int]) -> int | None:
    """Return the value of an integer literal, or of a name that is known; None for other expressions."""
    if isinstance(value, ast.Constant) and type(value.value) is int:
        return value.value
    return numbers.get(value.id) if isinstance(value, ast.Name) else None


def _numbers(tree: ast.Module) -> list[tuple[str, int]]:
    """Return the names to which a cell assigns an integer, with the values."""
    return [
        (target.id, statement.value.value)
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Constant)
        and type(statement.value.value) is int
        for target in statement.targets
        if isinstance(target, ast.Name)
    ]
