"""Events of the ranks' debuggers, and the events that they cause for the front end."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from dtrain_lab.debugger.sources import CELL, cell_name
from dtrain_lab.debugger.state import (
    FIRST_THREAD,
    Collective,
    Dap,
    Outcome,
    SourceLocation,
    State,
    StepsToCollective,
    Wrong,
    movers,
)
from dtrain_lab.debugger.view import brings, is_steady, shown_state, view

SETTLE_S = 0.2
"""Seconds to wait after `continue`: ranks stop one after another, and the focused one may be the last."""
Moved = tuple[State, tuple[Dap, ...]]


def happened(state: State, rank: int, event: str, body: Dap) -> Moved:
    """Handle an event of a rank's debugger.

    Args:
        state: current state.
        rank: the rank that sent it.
        event: "stopped", "continued", "loaded", "condition", "released" or "gone"; others are ignored.
        body: content of the event.

    Returns:
        The new state, and the events for the front end.
    """
    moved, told = _without_steps(*_happened(state, rank, event, body))
    if not brings(state, rank):
        return moved, told
    told = tuple(one for one in told if one["event"] not in ("stopped", "continued", "dtrain/state"))
    return moved, told if view(moved) == view(state) else (*told, state_event(moved))


def _happened(state: State, rank: int, event: str, body: Dap) -> Moved:
    if rank >= len(state.ranks):
        return state, ()
    if event == "loaded":  # a file with breakpoints
        return state, (loaded(path_of(state, str(body.get("path", "")))),) if state.editor else ()
    if event == "condition":  # it raised an error
        state = _wrong(state, rank, body)
        return state, (state_event(state),)
    state = state.resumed((rank,))
    match event:
        case "stopped":
            place = _place(state, body.get("place"))
            state = replace(state, reached=True).rank(
                rank,
                phase="paused",
                reason=body.get("reason", ""),
                text=body.get("text", ""),
                failed=bool(body.get("failed")),
                place=place,
                operation=None,
            )
            if state.focus is None:
                state = replace(state, focus=rank)
            shown = state.focus == rank or state.editor
            return state, (stopped(state, rank), state_event(state)) if shown else (state_event(state),)
        case "continued":
            if state.ranks[rank].phase != "gone":
                state = state.rank(rank, phase="running", reason="", text="")
            shown = state.focus == rank or state.editor
            return state, (continued(rank), state_event(state)) if shown else (state_event(state),)
        case "released":  # the rank has dropped its breakpoints: it is reattached, and gets them again
            return state.rank(rank, attached=False).moves_no_more((rank,)), ()
        case "gone":
            was = state.ranks[rank].phase
            state = state.rank(rank, phase="gone", attached=False, place=None, operation=None)
            state = replace(state, outcome=state.outcome.without((rank,)))
            if state.editor:
                return state, (thread("exited", rank), state_event(state)) if was != "gone" else ()
            if state.focus != rank:
                return state, (state_event(state),)
            events = (continued(rank),) if was == "paused" else ()
            state, target_events = targeted(state)
            return state, (*events, *target_events)
        case _:
            return state, ()


def settled(state: State) -> Moved:
    """Once ranks have had time to stop, focus a paused one if the focused rank still runs.

    After a step, the rank that the user has chosen stays in focus.
    """
    if not state.paused or state.focus in state.paused or state.editor or is_steady(state):
        return state, ()
    if state.moving != "step" or state.focus is None:
        return focus(state, state.paused[0])
    chosen = state.ranks[state.focus]
    stays = chosen.phase != "running" or chosen.operation is not None
    return _with_steps(state) if stays and not state.offers_steps else (state, ())


def left(before: State, state: State) -> Moved:
    """Once the focused rank has ended its part of a cell, focus a paused one that a step moves.

    Args:
        before: State before it was asked where it is.
        state: State now.
    """
    if is_steady(state) and view(before) == view(state):
        return state, ()
    rank = state.focus
    ended = rank is not None and state.ranks[rank].phase == "idle" != before.ranks[rank].phase
    return targeted(state) if ended else (state, (state_event(state),))


def targeted(state: State) -> Moved:
    """Focus a rank that a step moves, unless the focused one is paused.

    JupyterLab offers steps only while it shows the stack of a paused rank.

    Args:
        state: The debugger's state.
    """
    moves = movers(state)
    if state.focus in state.paused or not moves or state.editor or is_steady(state):
        return _without_steps(state, (state_event(state),))
    return focus(state, moves[0])


def focus(state: State, rank: int) -> Moved:
    """Focus a rank: the front end shows its stack and variables from now on.

    Args:
        state: The debugger's state.
        rank: The rank, paused or not.
    """
    before = state.focus
    shown = before in shown_state(state).paused or state.offers_steps
    state = replace(state, focus=rank, offers_steps=False)
    if is_steady(state) and rank not in shown_state(state).paused:
        event = state_event(state)
        return state, (continued(before), event) if shown and before is not None else (event,)
    if state.ranks[rank].phase == "paused":
        return state, (stopped(state, rank), state_event(state))
    state, told = _with_steps(state)
    return state, (continued(before), *told) if shown and before is not None else told


def _with_steps(state: State) -> Moved:
    """Have JupyterLab offer steps that move other ranks, while the focused one is not paused.

    It offers steps only while a thread has stopped, so it is told that the focused rank has; that has no
    frames.
    """
    rank = state.focus
    if rank is None or rank in state.paused or state.editor or not movers(state):
        return state, (state_event(state),)
    return replace(state, offers_steps=True), (stopped(state, rank), state_event(state))


def _without_steps(state: State, told: tuple[Dap, ...]) -> Moved:
    """Have JupyterLab offer no steps any more, once they would move no rank, or the focused one is paused."""
    focused = state.focus in state.paused
    if not state.offers_steps or (movers(state) and not focused):
        return state, told
    state = replace(state, offers_steps=False)
    return state, told if focused or state.focus is None else (continued(state.focus), *told)


def bring(state: State, steps: StepsToCollective) -> Moved:
    """Say that steps bring ranks to a collective: until they end, these ranks are shown as running.

    Args:
        state: The debugger's state.
        steps: The steps, or what is to be said of them now.
    """
    shown = state.focus in state.paused or state.offers_steps
    begins = state.bringing is None and not state.editor
    state = replace(state, bringing=steps)
    if state.focus is None or not begins or not shown:
        return state, (state_event(state),)
    return replace(state, offers_steps=False), (continued(state.focus), state_event(state))


def brought(state: State, gave_up: str) -> Moved:
    """Say that such steps have ended, and show the stack of the focused rank again.

    Args:
        state: The debugger's state.
        gave_up: Why they have ended before the ranks were there; empty if that needs no word.
    """
    state = replace(state, bringing=None, gave_up=gave_up)
    if state.editor or state.focus is None or not state.paused:
        return state, (state_event(state),)
    if state.focus in state.paused:
        return state, (stopped(state, state.focus), state_event(state))
    chosen = state.ranks[state.focus]
    stays = chosen.phase != "running" or chosen.operation is not None
    return _with_steps(state) if stays else focus(state, state.paused[0])


def record_location(state: State, rank: int, body: Dap) -> State:
    """Record where a running rank is.

    Args:
        state: The debugger's state.
        rank: The rank.
        body: Its report: `place`, empty between cells, and the collective in which it waits as `operation`.
    """
    if state.ranks[rank].phase == "paused":
        return state
    operation = body.get("operation")
    collective = msgspec.convert(operation, Collective) if operation else None
    place = _place(state, body.get("place"))
    if collective is None or collective.name != state.began_before.get(rank, collective.name):
        state = state.resumed((rank,))
    if place is None:  # between cells: a cluster's rank is idle, a job's continues by itself
        return state.rank(rank, phase="running" if state.texts else "idle", place=None, operation=None)
    return state.rank(rank, phase="running", place=place, operation=collective)


def cell_began(state: State, ranks: Sequence[int]) -> State:
    """Record that ranks run a cell.

    Args:
        state: The debugger's state.
        ranks: Ranks of the cell.
    """
    for rank in ranks:
        if rank < len(state.ranks) and state.ranks[rank].phase == "idle":
            state = state.rank(rank, phase="running", place=None, operation=None)
    state = replace(state, moving="continue", step=None, outcome=Outcome(), interrupted={}, gave_up="")
    return replace(state, wrong=(), reached=False)


def cell_ended(state: State, ranks: Sequence[int], outcome: Outcome) -> Moved:
    """Record that a cell has ended on these ranks.

    Args:
        state: current state.
        ranks: ranks that ran the cell.
        outcome: how it ended.
    """
    gone = tuple(r.rank for r in state.ranks if r.phase == "gone")
    state = replace(state, outcome=outcome.without(gone)).resumed(ranks)
    for rank in ranks:
        if rank < len(state.ranks) and state.ranks[rank].phase == "running":
            state = state.rank(rank, phase="idle", place=None, operation=None)
    return state, (state_event(state),)


def post_mortem(state: State, outcome: Outcome) -> State:
    """Begin a look at a failed cell: its ranks run to where it failed, and one that raised is focused.

    Args:
        state: The debugger's state.
        outcome: How the cell ended, with the ranks on which it raised.
    """
    focus = next(iter((*outcome.raised, *outcome.unfinished)), state.focus)
    state = cell_began(replace(state, focus=focus), outcome.unfinished)
    return replace(state, interrupted=outcome.inside)


def stopped(state: State, rank: int) -> Dap:
    """Make the event that has the front end show a rank's stack and variables.

    Args:
        state: The debugger's state, in which the rank is paused.
        rank: The rank, which is a thread for the front end.
    """
    view = state.ranks[rank]
    body: Dap = {
        "threadId": FIRST_THREAD + rank,
        "reason": view.reason or "step",
        "text": view.text,
        "description": f"rank {rank}",
        "allThreadsStopped": False,
    }
    # the rank that the user chose stays in focus, also if it is last
    if state.editor and rank != state.focus and (state.focus in state.paused or state.moving == "step"):
        body["preserveFocusHint"] = True
    return {"event": "stopped", "body": body}


def continued(rank: int) -> Dap:
    """Make the event that has the front end clear a rank's stack and variables."""
    return {"event": "continued", "body": {"threadId": FIRST_THREAD + rank, "allThreadsContinued": False}}


def thread(reason: str, rank: int) -> Dap:
    """Make the event by which an editor lists a rank, or drops it.

    Args:
        reason: "started" or "exited".
        rank: The rank.
    """
    return {"event": "thread", "body": {"reason": reason, "threadId": FIRST_THREAD + rank}}


def loaded(path: str) -> Dap:
    """Make the event that a rank has imported a file, for which breakpoints were waiting."""
    return {"event": "dtrain/loaded", "body": {"path": path}}


def state_event(state: State) -> Dap:
    """Make the event with the whole state, for our own panel."""
    return {"event": "dtrain/state", "body": msgspec.to_builtins(view(state))}


def path_of(state: State, path: str) -> str:
    """Translate a rank's path to the front end's; the front end has its own paths for cells.

    Args:
        state: The debugger's state, with the cells that the front end has announced.
        path: A file's path on the ranks, or `dtrain-cell:NAME`.
    """
    if not path.startswith(CELL):
        here, there = state.folders or ("", "\0")
        return here + path.removeprefix(there) if path.startswith(f"{there}/") else path
    name = path.removeprefix(CELL)
    cell_path = next((p for p in state.cells if (state.names.get(p) or cell_name(p)) == name), None)
    # a cell without a breakpoint, which the front end has not announced
    return cell_path or (f"{state.prefix}{name}" if state.prefix and not name.startswith("[") else path)


def _wrong(state: State, rank: int, body: Dap) -> State:
    new = Wrong(path_of(state, str(body["path"])), int(body["line"]), str(body["text"]), (rank,))
    before = next((w for w in state.wrong if replace(w, ranks=(rank,)) == new), None)
    if before is not None:
        new = replace(new, ranks=tuple(sorted({*before.ranks, rank})))
    return replace(state, wrong=(*(w for w in state.wrong if w is not before), new))


def _place(state: State, place: Dap | None) -> SourceLocation | None:
    if not place:
        return None
    return SourceLocation(path_of(state, place["file"]), place["line"], place["function"])
