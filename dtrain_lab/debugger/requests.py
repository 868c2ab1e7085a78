"""Debug requests of the front end, split between the kernel's own debugger and those of the ranks.

A request is served in three steps: `asks_kernel`, then `orders` for ranks, then `replies.reply`. The caller
does the I/O between them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from dtrain_lab.debugger import conditions
from dtrain_lab.debugger.rank_requests import Order as Order
from dtrain_lab.debugger.rank_requests import all_attached, for_rank, rich_inspection, same
from dtrain_lab.debugger.sources import CELL, cell_name, is_cell
from dtrain_lab.debugger.state import (
    Breakpoint,
    Dap,
    State,
    Step,
    movers,
    path_in,
    rank_of,
)
from dtrain_lab.errors import BadRequest, Conflict

MAGIC = "%%distributed"
STEPS = ("next", "stepIn", "stepOut")
COLLECTIVE = re.compile(
    r"\b(all_reduce|all_gather\w*|reduce_scatter\w*|all_to_all\w*|broadcast\w*|barrier|monitored_barrier|"
    r"scatter\w*|gather\w*|backward|full_tensor)\s*\("
)
OURS = "dtrain/"
SLOW_S = 30.0


def asks_kernel(state: State, request: Dap) -> bool:
    """Whether a request also goes to the kernel's own debugger.

    Args:
        state: The debugger's state.
        request: The front end's request.
    """
    command, arguments = request["command"], request.get("arguments") or {}
    if command.startswith(OURS) or rank_of(arguments) is not None:
        return False
    if command == "evaluate" and state.offers_steps:  # it has no frame
        return False
    if command == "continue" or command in STEPS or command == "pause":
        return not (state.paused if command != "pause" else state.running)
    return True


def for_kernel(state: State, request: Dap) -> Dap:
    """Return the request for the kernel's own debugger, without what is only for ranks: cells, conditions.

    Args:
        state: The debugger's state.
        request: The front end's request.
    """
    if request["command"] != "setBreakpoints":
        return request
    arguments = request["arguments"]
    points = () if path_in(request) in state.cells else arguments.get("breakpoints", ())
    return {**request, "arguments": {**arguments, "breakpoints": [{"line": p["line"]} for p in points]}}


def orders(state: State, request: Dap, kernel: Dap | None) -> tuple[State, tuple[Order, ...]]:
    """Translate a request of the front end into orders for ranks.

    Args:
        state: state before the request.
        request: the front end's DAP request.
        kernel: answer of the kernel's own debugger; None if it was not asked.

    Returns:
        The new state, and the orders.

    Raises:
        BadRequest: the request is invalid.
        Conflict: an expression runs a collective, and not all ranks are paused; or the focused rank is not.
    """
    command, arguments = request["command"], request.get("arguments") or {}
    match command:
        case "dumpCell":
            return _dumped(
                state, str((kernel or {}).get("body", {}).get("sourcePath", "")), arguments["code"]
            )
        case "setBreakpoints":
            path = path_in(request)
            if path not in state.cells and is_cell(path):
                return state, ()
            before = {point.line: point for point in state.points.get(path, ())}
            requested = map(conditions.given, arguments.get("breakpoints", ()))
            points = tuple(before.get(point.line, point) for point in requested)
            state = replace(state, points={**state.points, path: points})
            return state, _points(state, path, state.attached)
        case "dtrain/breakpoint":
            return _breakpoint(state, arguments)
        case "setExceptionBreakpoints":
            state = replace(state, filters=tuple(arguments.get("filters", ())))
            return state, all_attached(state, command, {"filters": list(state.filters)})
        case "continue" | "next" | "stepIn" | "stepOut" if not asks_kernel(state, request):
            state, moves = moved(state, command, state.paused if arguments.get("all") else movers(state))
            if command != "continue" or not state.pausing:
                return state, moves
            # a pending pause would stop a rank long after all ranks were continued
            back = Order("unpause", {r: {} for r in state.pausing})
            return replace(state, pausing=()), (*moves, back)
        case "pause" if not asks_kernel(state, request):
            return replace(state, step=None), (Order("pause", {r: {} for r in state.running}),)
        case "dtrain/pause":
            wanted = {int(r) for r in arguments["ranks"]}
            return state, (Order("pause", {r: {} for r in state.attached if r in wanted}),)
        case "disconnect" | "terminate":
            return state, all_attached(state, "detach", {})
        case "dtrain/gather":
            rank = int(arguments["rank"])
            return moved(state, "next", tuple(r for r in state.paused if r != rank))
        case "evaluate":
            return state, _evaluate(state, arguments)
        case "richInspectVariables":
            return state, rich_inspection(arguments)
        case "source" if kernel is not None and not kernel.get("success") and state.focus in state.paused:
            path = there_of(state, path_in(request))  # its node may have the file
            return state, (Order(command, {state.focus: {"source": {"path": path}}}),)
    return state, _one(state, command, arguments)


def catch_up(state: State, ranks: Sequence[int]) -> tuple[Order, ...]:
    """Return the orders that bring ranks up to date before a cell: cell texts, breakpoints, filters.

    Args:
        state: The debugger's state.
        ranks: Ranks of the cell.
    """
    orders: list[Order] = []
    for path, code in state.cells.items():
        if state.points.get(path) and path not in state.names:
            orders.append(same("dumpCell", {"name": cell_name(path), "code": code}, ranks))
    for path in state.points:
        orders.extend(_points(state, path, ranks))
    orders.append(same("setExceptionBreakpoints", {"filters": list(state.filters)}, ranks))
    return tuple(orders)


# ---- parts


def _one(state: State, command: str, arguments: Dap) -> tuple[Order, ...]:
    """Make an order for the rank that the request's thread, frame or variable ids belong to."""
    rank = rank_of(arguments)
    if rank is None:
        return ()
    if rank >= len(state.ranks):
        raise BadRequest(f"There is no rank {rank}.", f"The ranks are 0 to {len(state.ranks) - 1}.")
    return (Order(command, {rank: for_rank(arguments)}),)


def knows_job(state: State, paths: Mapping[str, str]) -> State:
    """Register the cells of a job before the front end announces them.

    Args:
        state: state with the job's `texts`.
        paths: text of a cell → the front end's path for it.
    """
    cells = {path: text for text, path in paths.items()}
    return replace(state, cells=cells, names={path: state.texts[text] for text, path in paths.items()})


def _dumped(state: State, path: str, code: str) -> tuple[State, tuple[Order, ...]]:
    """Register a cell that the front end announces, if it runs on ranks."""
    name = state.texts.get(code, "")
    if not path or not (name or (code.startswith(MAGIC) and not state.texts)):
        return state, ()
    state = replace(state, cells={**state.cells, path: code})
    if name:  # the ranks of a job have its text themselves
        return replace(state, names={**state.names, path: name}), ()
    return state, all_attached(state, "dumpCell", {"name": cell_name(path), "code": code})


def there_of(state: State, path: str) -> str:
    """Translate the front end's path of a source to the ranks'.

    Args:
        state: The debugger's state, with the cells, and the folders of a job that is debugged.
        path: Path of a cell or file at the front end.
    """
    if path in state.cells:
        return f"{CELL}{state.names.get(path) or cell_name(path)}"
    if state.prefix and path.startswith(state.prefix):  # a cell that the front end has not announced
        return f"{CELL}{path.removeprefix(state.prefix)}"
    if state.folders is not None and path.startswith(f"{state.folders[0]}/"):
        return state.folders[1] + path.removeprefix(state.folders[0])
    return path


def moved(state: State, command: str, ranks: Sequence[int]) -> tuple[State, tuple[Order, ...]]:
    """Resume paused ranks. They count as running at once: their next stop may arrive before their answer.

    Args:
        state: state with the ranks paused.
        command: "continue", or one of `STEPS`.
        ranks: the ranks.

    Returns:
        The state with these ranks running, and the orders that resume them.
    """
    step = None
    if command in STEPS and state.mode == "all":
        begins = {state.ranks[r].place for r in ranks}
        before = state.step.places if state.step is not None and state.step.late else ()
        step = Step(command, tuple(begins), tuple(begins.union(before)), state.running)
    state = replace(state, moving="step" if command in STEPS else "continue", step=step)
    stepping = set(state.stepping) - set(ranks) if command not in STEPS else {*state.stepping, *ranks}
    state = replace(state, stepping=tuple(sorted(stepping)), gave_up="")
    for rank in ranks:
        state = state.rank(rank, phase="running", reason="", text="", operation=None)
    if command == "continue" and not state.paused:
        state = state.unknown_waits()
    return state, (Order(command, {rank: {} for rank in ranks}),)


def catch_step(state: State, rank: int) -> tuple[State, tuple[Order, ...]]:
    """Let a rank that has just paused take the step that was ordered before it reached that line.

    Otherwise the others, which step over a collective, would wait for the one rank that was late.

    Args:
        state: state with the rank paused.
        rank: the rank.

    Returns:
        The new state, and the step; no order if the rank has stopped elsewhere.
    """
    step = state.step
    if step is None or rank not in step.late:
        return state, ()
    view = state.ranks[rank]
    left = replace(step, late=tuple(r for r in step.late if r != rank))
    if view.reason not in ("breakpoint", "step") or view.place not in step.places:
        return replace(state, step=left), ()
    state, orders = moved(state, step.command, (rank,))
    return replace(state, step=left if view.place in step.begins else step), orders


def _breakpoint(state: State, arguments: Dap) -> tuple[State, tuple[Order, ...]]:
    path, line = arguments["path"], int(arguments["line"])
    point = Breakpoint(
        line,
        str(arguments.get("condition", "")).strip(),
        str(arguments.get("hit", "")).strip(),
        str(arguments.get("log", "")),
    )
    conditions.check(point)
    others = tuple(p for p in state.points.get(path, ()) if p.line != line)
    points = tuple(sorted((*others, point), key=lambda p: p.line))
    wrong = tuple(w for w in state.wrong if (w.path, w.line) != (path, line))
    state = replace(state, points={**state.points, path: points}, wrong=wrong)
    return state, _points(state, path, state.attached)


def _points(state: State, path: str, ranks: Sequence[int]) -> tuple[Order, ...]:
    if not ranks:
        return ()
    there = there_of(state, path)
    points = state.points.get(path, ())
    # JupyterLab can't show a breakpoint that waits for its file
    also = {"awaitsImport": True} if state.editor else {}
    return (
        Order(
            "setBreakpoints",
            {
                rank: {
                    "source": {"path": there},
                    "breakpoints": [conditions.for_rank(point, there, rank) for point in points],
                    **also,
                }
                for rank in ranks
            },
        ),
    )


def _evaluate(state: State, arguments: Dap) -> tuple[Order, ...]:
    rank = rank_of(arguments)
    if rank is None and state.focus in state.paused:
        rank = state.focus
    if rank is None and state.offers_steps:
        raise Conflict(f"Rank {state.focus} is not paused.", "Look at a paused rank to evaluate something.")
    if rank is None:
        return ()
    if not COLLECTIVE.search(str(arguments.get("expression", ""))):
        return (Order("evaluate", {rank: for_rank(arguments)}, SLOW_S),)
    paused = state.paused
    alive = [r.rank for r in state.ranks if r.phase != "gone"]
    if list(paused) != alive:
        raise Conflict(
            "This expression runs a collective, and not all ranks are paused: it would hang.",
            "Pause all ranks, then evaluate it again: it is run on all of them at once.",
        )
    # on all ranks, each in its own innermost frame: the front end's is one rank's
    plain = {k: v for k, v in arguments.items() if k != "frameId"}
    return (Order("evaluate", dict.fromkeys(paused, plain), SLOW_S),)
