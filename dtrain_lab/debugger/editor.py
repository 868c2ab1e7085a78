"""What an editor's debugger needs beyond JupyterLab's: capabilities, all ranks as threads, whole breakpoints.

Requests and replies are translated to and from those that `requests` and `replies` serve. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from dtrain_lab.cells import rank_sets
from dtrain_lab.debugger import conditions
from dtrain_lab.debugger.compared import AcrossRow
from dtrain_lab.debugger.places import CELL
from dtrain_lab.debugger.state import FIRST_THREAD, Breakpoint, Dap, State, rank_of
from dtrain_lab.debugger.view import view
from dtrain_lab.errors import BadRequest

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
            "description": "Stop a rank where its cell raises an exception that nobody catches.",
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
IN_A_NOTEBOOK = "A notebook's cells have their own text on the ranks: set breakpoints there (loaded sources)."


def threads(state: State) -> list[Dap]:
    """Return the protocol's threads: one for each rank that is there."""
    return [{"id": FIRST_THREAD + r.rank, "name": f"rank {r.rank}"} for r in state.ranks if r.phase != "gone"]


def with_points(state: State, path: str, points: list[Dap]) -> tuple[State, dict[int, str]]:
    """Take over the breakpoints of a file with their conditions, which JupyterLab would not send.

    Args:
        state: current state.
        path: the file.
        points: breakpoints as the editor sends them.

    Returns:
        The new state, and line → what is wrong with that breakpoint.
    """
    kept, wrong = [], {}
    for sent in points:
        made = Breakpoint(
            int(sent["line"]),
            str(sent.get("condition") or "").strip(),
            str(sent.get("hitCondition") or "").strip(),
            str(sent.get("logMessage") or ""),
        )
        try:
            conditions.check(made)
        except BadRequest as error:
            wrong[made.line] = str(error)
        else:
            kept.append(made)
    return replace(state, points={**state.points, path: tuple(kept)}), wrong


def breakpoints(path: str, asked: list[Dap], set_: list[Dap], wrong: Mapping[int, str]) -> list[Dap]:
    """Put the breakpoints that ranks have set, and those that are wrong, in the editor's order.

    Args:
        path: the file.
        asked: as the editor sent them.
        set_: the ranks' answer, in order, without the wrong ones.
        wrong: line → what is wrong.
    """
    placed = iter(set_)
    made = []
    for sent in asked:
        line = int(sent["line"])
        unset = {"verified": False, "line": line, "source": {"path": path}}
        if line in wrong:
            made.append({**unset, "message": wrong[line]})
        else:
            made.append(next(placed, {**unset, "message": "No rank is attached."}))
    return made


def moving(state: State, request: Dap) -> State:
    """Choose which ranks a step or continue moves, and look at the rank that it was asked for.

    All paused ranks move, so that a step over a collective takes all of them along; with `singleThread`
    only that one does.
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
    """Say in words which ranks wait in a collective for paused ones; empty where none does."""
    return " ".join(wait.text for wait in view(state).waits)


def sources(state: State) -> dict[str, str]:
    """Return the cells of a job: their path on the wire → their name."""
    return {f"{CELL}{name}": f"cell {name}" for name in state.texts.values()}


def side_by_side(row: AcrossRow) -> str:
    """Return an expression's values on all ranks as text: one line where they are the same."""
    if row.same:
        return row.text
    return "\n".join([row.text, *(f"{rank_sets.name(group.ranks)}: {group.text}" for group in row.groups)])
