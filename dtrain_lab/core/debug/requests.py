"""What the front end asks, of the kernel's own debugger and of the ranks'.

A request is served in three steps: `asks_kernel`, then `orders` for ranks, then `replies.reply`; between them
lies I/O, which is none of ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.core.debug import conditions
from dtrain_lab.core.debug.places import CELL, cell_name
from dtrain_lab.core.debug.state import (
    PER_RANK,
    REFERENCES,
    Breakpoint,
    Dap,
    State,
    inward,
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


class Order(Struct, frozen=True):
    """A request for debuggers of ranks."""

    command: str
    arguments: dict[int, Dap]
    within_s: float = 10.0


def asks_kernel(state: State, request: Dap) -> bool:
    """Whether the kernel's own debugger is asked, too."""
    command, arguments = request["command"], request.get("arguments") or {}
    if command.startswith(OURS) or rank_of(arguments) is not None:
        return False
    if command == "continue" or command in STEPS or command == "pause":
        return not (state.paused if command != "pause" else _running(state))
    return True


def for_kernel(state: State, request: Dap) -> Dap:
    """The request as the kernel's own debugger gets it: lines of a cell of ranks are not its business."""
    if request["command"] == "setBreakpoints" and path_in(request) in state.cells:
        return {**request, "arguments": {**request["arguments"], "breakpoints": []}}
    return request


def orders(state: State, request: Dap, kernel: Dap | None) -> tuple[State, tuple[Order, ...]]:
    """What ranks are asked for a request, and what is noted first.

    Args:
        state: before it.
        request: of the front end.
        kernel: what the kernel's own debugger has answered, if it was asked.

    Raises:
        BadRequest, Conflict: it can't be served.
    """
    command, arguments = request["command"], request.get("arguments") or {}
    match command:
        case "dumpCell":
            return _dumped(
                state, str((kernel or {}).get("body", {}).get("sourcePath", "")), arguments["code"]
            )
        case "setBreakpoints":
            path = path_in(request)
            if path not in state.cells and _is_cell(path):
                return state, ()
            before = {point.line: point for point in state.points.get(path, ())}
            lines = [b["line"] for b in arguments.get("breakpoints", ())]
            points = tuple(before.get(line, Breakpoint(line)) for line in lines)
            state = replace(state, points={**state.points, path: points})
            return state, _points(state, path, state.attached)
        case "dtrain/breakpoint":
            return _breakpoint(state, arguments)
        case "setExceptionBreakpoints":
            state = replace(state, filters=tuple(arguments.get("filters", ())))
            return state, _all(state, command, {"filters": list(state.filters)})
        case "continue" | "next" | "stepIn" | "stepOut" if not asks_kernel(state, request):
            return _moved(state, command, movers(state))
        case "pause" if not asks_kernel(state, request):
            return state, (Order("pause", {r: {} for r in _running(state)}),)
        case "dtrain/pause":
            wanted = {int(r) for r in arguments["ranks"]}
            return state, (Order("pause", {r: {} for r in state.attached if r in wanted}),)
        case "disconnect" | "terminate":
            return state, _all(state, "detach", {})
        case "dtrain/gather":
            rank = int(arguments["rank"])
            return _moved(state, "next", tuple(r for r in state.paused if r != rank))
        case "evaluate":
            return state, _evaluate(state, arguments)
        case "richInspectVariables":
            return state, _rich(arguments)
    return state, _one(state, command, arguments)


def catch_up(state: State, ranks: Sequence[int]) -> tuple[Order, ...]:
    """What ranks must know before they run a cell: texts of cells, breakpoints, filters."""
    made: list[Order] = []
    for path, code in state.cells.items():
        if state.points.get(path) and path not in state.names:
            made.append(_same("dumpCell", {"name": cell_name(path), "code": code}, ranks))
    for path in state.points:
        made.extend(_points(state, path, ranks))
    made.append(_same("setExceptionBreakpoints", {"filters": list(state.filters)}, ranks))
    return tuple(made)


# ---- parts


def _one(state: State, command: str, arguments: Dap) -> tuple[Order, ...]:
    """A request for the rank that its numbers name."""
    rank = rank_of(arguments)
    if rank is None:
        return ()
    if rank >= len(state.ranks):
        raise BadRequest(f"There is no rank {rank}.", "")
    return (Order(command, {rank: _for_rank(arguments)}),)


def knows_job(state: State, paths: Mapping[str, str]) -> State:
    """The cells of a job, before the front end tells of them.

    Args:
        state: with the job's texts.
        paths: text of a cell → the path that the front end gives it.
    """
    cells = {path: text for text, path in paths.items()}
    return replace(state, cells=cells, names={path: state.texts[text] for text, path in paths.items()})


def _dumped(state: State, path: str, code: str) -> tuple[State, tuple[Order, ...]]:
    """The front end has a cell with this text; is it one that ranks run?"""
    name = state.texts.get(code, "")
    if not path or not (name or (code.startswith(MAGIC) and not state.texts)):
        return state, ()
    state = replace(state, cells={**state.cells, path: code})
    if name:  # the ranks of a job have its text themselves
        return replace(state, names={**state.names, path: name}), ()
    return state, _all(state, "dumpCell", {"name": cell_name(path), "code": code})


def there_of(state: State, path: str) -> str:
    """A place as the ranks know it."""
    if path in state.cells:
        return f"{CELL}{state.names.get(path) or cell_name(path)}"
    if state.folders is not None and path.startswith(f"{state.folders[0]}/"):
        return state.folders[1] + path.removeprefix(state.folders[0])
    return path


def _moved(state: State, command: str, ranks: Sequence[int]) -> tuple[State, tuple[Order, ...]]:
    """Send paused ranks on. They run from now on: that they stop again may be heard before their answer."""
    state = replace(state, moving="step" if command in STEPS else "continue")
    for rank in ranks:
        state = state.rank(rank, phase="running", reason="", text="", operation=None)
    return state, (Order(command, {rank: {} for rank in ranks}),)


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
    state = replace(state, points={**state.points, path: points})
    return state, _points(state, path, state.attached)


def _points(state: State, path: str, ranks: Sequence[int]) -> tuple[Order, ...]:
    if not ranks:
        return ()
    there = there_of(state, path)
    points = state.points.get(path, ())
    return (
        Order(
            "setBreakpoints",
            {
                rank: {
                    "source": {"path": there},
                    "breakpoints": [conditions.for_rank(point, rank) for point in points],
                }
                for rank in ranks
            },
        ),
    )


def _evaluate(state: State, arguments: Dap) -> tuple[Order, ...]:
    rank = rank_of(arguments)
    if rank is None and state.focus in state.paused:
        rank = state.focus
    if rank is None:
        return ()
    if not COLLECTIVE.search(str(arguments.get("expression", ""))):
        return (Order("evaluate", {rank: _for_rank(arguments)}, SLOW_S),)
    standing = state.paused
    alive = [r.rank for r in state.ranks if r.phase != "gone"]
    if list(standing) != alive:
        raise Conflict(
            "This expression runs a collective, and not all ranks are paused: it would wait for ever.",
            "Pause all ranks, then evaluate it again: it is run on all of them at once.",
        )
    # on all ranks, each in the frame where it stands
    plain = {k: v for k, v in arguments.items() if k != "frameId"}
    return (Order("evaluate", {r: {**plain, "depth": state.depth} for r in standing}, SLOW_S),)


def _rich(arguments: Dap) -> tuple[Order, ...]:
    rank = rank_of(arguments)
    if rank is None:
        return ()
    name = str(arguments.get("variableName", ""))
    if not name.isidentifier():
        return ()
    _, frame = inward(arguments["frameId"])
    expression = f"__import__('IPython').core.interactiveshell.DisplayFormatter().format({name})"
    return (Order("evaluate", {rank: {"expression": expression, "frameId": frame, "context": "clipboard"}}),)


def _for_rank(arguments: Dap) -> Dap:
    plain = {k: v for k, v in arguments.items() if k != "threadId"}
    for key in REFERENCES:
        value = plain.get(key)
        if isinstance(value, int) and value >= PER_RANK:
            plain[key] = inward(value)[1]
    return plain


def _running(state: State) -> tuple[int, ...]:
    return tuple(r.rank for r in state.ranks if r.attached and r.phase == "running")


def _all(state: State, command: str, arguments: Dap) -> tuple[Order, ...]:
    return (_same(command, arguments, state.attached),) if state.attached else ()


def _same(command: str, arguments: Dap, ranks: Sequence[int]) -> Order:
    return Order(command, {rank: arguments for rank in ranks})


def _is_cell(path: str) -> bool:
    """A cell of the kernel's own: its text lies in the kernel's folder of cells."""
    return "/ipykernel_" in path
