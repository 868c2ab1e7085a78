"""Differences between editors and JupyterLab: capabilities, all ranks as threads, complete breakpoints.

Requests and replies are translated to and from those that `requests` and `replies` serve. Pure.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from msgspec.structs import replace

from dtrain_lab.debugger import conditions
from dtrain_lab.debugger.compare_values import AcrossRow
from dtrain_lab.debugger.editor.numbering import Numbering
from dtrain_lab.debugger.sources import CELL
from dtrain_lab.debugger.state import FIRST_THREAD, Breakpoint, Dap, State, rank_of
from dtrain_lab.debugger.view import view
from dtrain_lab.errors import BadRequest
from dtrain_lab.text import rank_names

CAPABILITIES: Dap = {
    "supportsConfigurationDoneRequest": True,
    "supportsConditionalBreakpoints": True,
    "supportsHitConditionalBreakpoints": True,
    "supportsLogPoints": True,
    "supportsEvaluateForHovers": True,
    "supportsExceptionInfoRequest": True,
    "supportsSetVariable": True,
    "supportsCompletionsRequest": True,
    "supportsLoadedSourcesRequest": True,
    "supportsSingleThreadExecutionRequests": True,
    "exceptionBreakpointFilters": [
        {
            "filter": "uncaught",
            "label": "Failed Cells",
            "description": "Stop a rank where its cell raises an exception that is not caught.",
            "default": False,
        },
        {
            "filter": "raised",
            "label": "Raised Exceptions",
            "description": "Stop a rank wherever an exception is raised.",
            "default": False,
        },
    ],
}
MOVES = ("continue", "next", "stepIn", "stepOut")
ALSO_AT_THE_END = ("threads", "setBreakpoints", "setExceptionBreakpoints", "disconnect", "terminate")
"""Requests that are served after the ranks have ended."""
IN_A_NOTEBOOK = "A notebook's cells have their own text on the ranks: set breakpoints there (loaded sources)."


def threads(state: State) -> list[Dap]:
    """Return the protocol's threads: one for each existing rank."""
    return [{"id": FIRST_THREAD + r.rank, "name": f"rank {r.rank}"} for r in state.ranks if r.phase != "gone"]


def numbering(arguments: Dap) -> Numbering:
    """Read from the arguments of `initialize` how the editor counts lines.

    Raises:
        BadRequest: it wants paths as URIs.
    """
    if arguments.get("pathFormat", "path") != "path":
        raise BadRequest("Sources have paths here.", 'Set pathFormat to "path".')
    lines, columns = (arguments.get(key) is not False for key in ("linesStartAt1", "columnsStartAt1"))
    return Numbering(int(lines), int(columns))


def nowhere(path: str, points: list[Dap]) -> dict[int, str]:
    """Return why no breakpoint of a source can be set.

    Args:
        path: The source's path, as the editor sent it.
        points: Its breakpoints in DAP's form.

    Returns:
        Line → reason; empty if ranks have to be asked.
    """
    if path.endswith(".ipynb"):
        return dict.fromkeys((point["line"] for point in points), IN_A_NOTEBOOK)
    if not path.startswith((CELL, "/")):
        why = f"{path} is not an absolute path: each rank has its own working directory."
        return dict.fromkeys((point["line"] for point in points), why)
    return {}


def readable(expression: str) -> None:
    """Check the syntax of an expression, before ranks are asked.

    Raises:
        BadRequest: it is not a Python expression.
    """
    try:
        ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError) as error:
        why = error.msg if isinstance(error, SyntaxError) else str(error)
        raise BadRequest(f"The expression can't be read: {why}.", "") from None


def named_in(data: bytes) -> Dap | None:
    """Find the request in a message that can't be parsed; None if its number is unknown."""
    number = re.search(rb'"seq"\s*:\s*(\d+)', data)
    command = re.search(rb'"command"\s*:\s*"(\w+)"', data)
    if number is None:
        return None
    return {"seq": int(number[1]), "command": command[1].decode() if command else ""}


def with_points(state: State, path: str, points: list[Dap]) -> tuple[State, dict[int, str]]:
    """Store the breakpoints of a file with their conditions, which JupyterLab would not send.

    Args:
        state: current state.
        path: the file.
        points: breakpoints as the editor sends them.

    Returns:
        The new state, and line → error of that breakpoint.
    """
    kept: list[Breakpoint] = []
    wrong = {}
    for sent in points:
        point_set = Breakpoint(
            int(sent["line"]),
            str(sent.get("condition") or "").strip(),
            str(sent.get("hitCondition") or "").strip(),
            str(sent.get("logMessage") or ""),
        )
        if point_set.line < 1:
            wrong[point_set.line] = "There is no such line."
            continue
        try:
            conditions.check(point_set)
        except BadRequest as error:
            wrong[point_set.line] = str(error)
        else:
            kept.append(point_set)
    return replace(state, points={**state.points, path: tuple(kept)}), wrong


def breakpoints(path: str, asked: list[Dap], set_: list[Dap], wrong: Mapping[int, str]) -> list[Dap]:
    """Merge the breakpoints that ranks have set with the invalid ones, in the editor's order.

    Args:
        path: the file.
        asked: as the editor sent them.
        set_: the ranks' answer, in order, without the wrong ones.
        wrong: line → error.
    """
    placed = iter(set_)
    merged = []
    for sent in asked:
        line = int(sent["line"])
        unset = {"verified": False, "line": line, "source": {"path": path}}
        if line in wrong:
            merged.append({**unset, "message": wrong[line]})
        else:
            merged.append(next(placed, {**unset, "message": "No rank is attached."}))
    return merged


def moving(state: State, request: Dap) -> State:
    """Choose which ranks a step or continue moves, and focus the rank of the request.

    All paused ranks move, so that a step over a collective takes all of them along; with `singleThread`
    only that one does.

    Args:
        state: The debugger's state.
        request: The editor's request, with a thread that stands for a rank.
    """
    arguments = request.get("arguments") or {}
    rank = rank_of(arguments)
    if rank is None or rank >= len(state.ranks):
        return state
    return replace(state, focus=rank, mode="this" if arguments.get("singleThread") else "all")


def running(state: State) -> State:
    """Count idle ranks as running: an editor is not told of the cells that other clients run."""
    for rank in state.ranks:
        if rank.phase == "idle" and rank.attached:
            state = state.rank(rank.rank, phase="running")
    return state


def waiting(state: State) -> str:
    """Describe which ranks wait in a collective for paused ones; empty if none does."""
    return " ".join(wait.text for wait in view(state).waits)


def sources(state: State) -> dict[str, str]:
    """Return the cells of a job: their path on the wire → their name."""
    return {f"{CELL}{name}": f"cell {name}" for name in state.texts.values()}


def side_by_side(row: AcrossRow) -> str:
    """Return an expression's values on all ranks as text: one line where there is one value."""
    if len(row.groups) == 1:
        return row.text
    return "\n".join([row.text, *(f"{rank_names.name(group.ranks)}: {group.text}" for group in row.groups)])
