"""Replies to the front end's debug requests, from the answers of the kernel's debugger and the ranks."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from dtrain_lab.debugger import events
from dtrain_lab.debugger.shown_variables import numbered
from dtrain_lab.debugger.sources import LACKS_FILE
from dtrain_lab.debugger.state import FIRST_THREAD, Dap, State, path_in, rank_of
from dtrain_lab.errors import BadRequest
from dtrain_lab.text import rank_names

Answers = Mapping[int, Dap]
PENDING = "No rank has imported this file yet. Ranks stop here once they have."


def reply(
    state: State, request: Dap, kernel: Dap | None, answers: Sequence[Answers]
) -> tuple[State, Dap, tuple[Dap, ...]]:
    """Build the reply to a request of the front end.

    Args:
        state: current state.
        request: the front end's DAP request.
        kernel: answer of the kernel's own debugger; None if it was not asked.
        answers: for each of the request's orders, rank → answer.

    Returns:
        The new state, the reply, and further events for the front end.

    Raises:
        BadRequest: the request names a rank that doesn't exist.
    """
    command, arguments = request["command"], request.get("arguments") or {}
    first = answers[0] if answers else {}
    match command:
        case "debugInfo" if kernel is not None:
            return state, _info(state, kernel), ()
        case "threads" if kernel is not None:
            return state, _threads(state, kernel), ()
        case "setBreakpoints" if first:
            state, breakpoints = _placed(state, path_in(request), first)
            return state, _ok(request, {"breakpoints": breakpoints}), (events.state_event(state),)
        case "setBreakpoints" if kernel is not None and path_in(request) in state.cells:
            # no rank is attached, and the kernel has no breakpoint in a cell of ranks: these wait for ranks
            return state, _ok(request, {"breakpoints": _waiting(state, path_in(request))}), ()
        case "dtrain/breakpoint":
            return _one_breakpoint(state, request, arguments, first)
        case "pause" | "dtrain/pause" if kernel is None and first:
            return _pausing(state, request, first)
        case "disconnect" | "terminate":
            state = _off(state)
            return state, kernel or _ok(request, {}), (events.state_event(state),)
        case "dtrain/focus":
            state, emitted = _focused(state, int(arguments["rank"]))
            return state, _ok(request, {}), emitted
        case "dtrain/mode":
            state = replace(
                state,
                mode=arguments.get("mode", state.mode),
                chosen=tuple(int(r) for r in arguments.get("ranks", state.chosen)),
            )
            state, emitted = events.targeted(state)
            return state, _ok(request, {}), emitted
        case "dtrain/exceptions":
            return state, _ok(request, {"filters": list(state.filters)}), ()
        case "dtrain/state":
            now = events.state_event(state)
            return state, _ok(request, now["body"]), (now,)
        case "evaluate" if len(first) > 1 or (first and rank_of(arguments) is None):
            return state, _evaluated(request, state, first), ()
        case "source" if any(a.get("success") for a in first.values()):
            return state, _ok(request, next(iter(first.values()))["body"]), ()
        case "richInspectVariables" if first:
            return state, _inspected(request, first), ()
    return state, kernel if kernel is not None else _of_ranks(state, request, first), ()


def _threads(state: State, kernel: Dap) -> Dap:
    """The kernel's reply with a thread for each rank that is debugged."""
    threads = [
        {"id": FIRST_THREAD + r.rank, "name": f"rank {r.rank} ({r.phase})"} for r in state.ranks if r.attached
    ]
    kernel_threads = kernel.get("body", {}).get("threads", [])
    return {**kernel, "body": {"threads": [*kernel_threads, *threads]}}


def _pausing(state: State, request: Dap, answers: Answers) -> tuple[State, Dap, tuple[Dap, ...]]:
    """Note which ranks will pause; refused if none will."""
    told_to = {rank for rank, answer in answers.items() if answer.get("success")}
    if not told_to:
        return state, _no(request, _refusal(answers)), ()
    state = replace(state, pausing=tuple(sorted((told_to & {*state.running}) | {*state.pausing})))
    return state, _ok(request, {}), (events.state_event(state),)


def _focused(state: State, rank: int) -> tuple[State, tuple[Dap, ...]]:
    if not 0 <= rank < len(state.ranks):
        raise BadRequest(f"There is no rank {rank}.", f"There are ranks 0 to {len(state.ranks) - 1}.")
    return events.focus(state, rank)


def _of_ranks(state: State, request: Dap, answers: Answers) -> Dap:
    """The reply to a request that ranks have answered: of one of them, unless all refuse."""
    if not answers:
        return _ok(request, _empty(request))  # its world has ended
    rank, answer = next(iter(answers.items()))
    refused = [a for a in answers.values() if not a.get("success")]
    if refused and len(refused) == len(answers):
        return _no(request, str(refused[0].get("message", "")))
    return _ok(request, numbered(state, rank, answer.get("body") or {}))


def _one_breakpoint(
    state: State, request: Dap, arguments: Dap, answers: Answers
) -> tuple[State, Dap, tuple[Dap, ...]]:
    """Place a breakpoint of a terminal, which is refused where no rank can stop."""
    refusal, before = _refusal(answers), state.points.get(arguments["path"], ())
    if refusal and len(_lacking(answers)) == len(answers):
        return _without(state, arguments), _no(request, refusal), (events.state_event(state),)
    if answers:
        state, placed = _placed(state, arguments["path"], answers)
        index = next((i for i, p in enumerate(before) if p.line == int(arguments["line"])), None)
        if index is not None and not placed[index].get("verified", True):
            why = str(placed[index].get("message", ""))
            return _without(state, arguments), _no(request, why), (events.state_event(state),)
    return state, _ok(request, {}), (events.state_event(state),)


def done(request: Dap, body: Dap | None = None) -> Dap:
    """Build the reply to a request that was served, with this body; without one, it is empty."""
    return _ok(request, body or {})


def refused(request: Dap, message: str, code: str = "") -> Dap:
    """Build the reply to a request that can't be served: a message for people, and a code for clients."""
    reply = _no(request, message)
    return {**reply, "code": code} if code else reply


def _placed(state: State, path: str, answers: Answers) -> tuple[State, list[Dap]]:
    """Move breakpoints to where the ranks placed them, such as from a blank line to the next executed one."""
    good = [a for _, a in sorted(answers.items()) if a.get("success")]
    points = state.points.get(path, ())
    refusal = _refusal(answers)
    notes = tuple(n for n in state.notes if not n.startswith(f"{LACKS_FILE} {path} "))
    state = replace(state, notes=(*notes, refusal) if refusal else notes)
    placed = _best([a.get("body", {}).get("breakpoints", []) for a in good], len(points))
    if len(placed) != len(points):
        why = refusal or next((str(a.get("message")) for a in answers.values() if a.get("message")), "")
        unplaced = {"verified": False, "message": why, "source": {"path": path}}
        return state, [{**unplaced, "line": p.line} for p in points]
    moved = tuple(
        replace(point, line=int(at.get("line") or point.line))
        for point, at in zip(points, placed, strict=True)
    )
    state = replace(state, points={**state.points, path: moved})
    return state, [
        {**_shown(state, at, refusal), "line": point.line, "source": {"path": path}}
        for point, at in zip(moved, placed, strict=True)
    ]


def _waiting(state: State, path: str) -> list[Dap]:
    """Breakpoints that ranks get once they are attached. JupyterLab shows those that are verified."""
    return [
        {"line": point.line, "verified": True, "source": {"path": path}}
        for point in state.points.get(path, ())
    ]


def _best(answers: Sequence[Sequence[Dap]], count: int) -> list[Dap]:
    """Of all ranks' answers for each breakpoint, return one that says it is set, if any does."""
    full = [points for points in answers if len(points) == count]
    best_points = []
    for index in range(count if full else 0):
        of_ranks = [dict(points[index]) for points in full]
        best = next((point for point in of_ranks if point.get("verified")), of_ranks[0])
        best_points.append({**best, "loaded": any(point.get("loaded", True) for point in of_ranks)})
    return best_points


def _shown(state: State, at: Dap, refusal: str) -> Dap:
    """A breakpoint for the front end. For an editor it waits while no rank has loaded its file."""
    shown = {key: value for key, value in at.items() if key != "loaded"}
    if not state.editor or not at.get("verified"):
        return shown
    if refusal:
        shown["message"] = refusal
    if not at["loaded"]:
        shown |= {"verified": False, "reason": "pending", "message": PENDING}
    return shown


def _lacking(answers: Answers) -> list[int]:
    """Return the ranks that lack the breakpoint's file."""
    return sorted(r for r, a in answers.items() if str(a.get("message", "")).startswith(LACKS_FILE))


def _refusal(answers: Answers) -> str:
    """Describe why some ranks will not stop at a breakpoint; empty if all will."""
    lacking = _lacking(answers)
    if not lacking:
        return ""
    if len(lacking) == len(answers):
        return str(answers[lacking[0]]["message"])
    verb = "does" if len(lacking) == 1 else "do"
    return f"{answers[lacking[0]]['message']} {rank_names.sentence_name(lacking)} {verb} not stop there."


def _without(state: State, arguments: Dap) -> State:
    path, line = arguments["path"], int(arguments["line"])
    kept = tuple(p for p in state.points.get(path, ()) if p.line != line)
    points = {k: v for k, v in state.points.items() if k != path}
    return replace(state, points={**points, path: kept} if kept else points)


def _evaluated(request: Dap, state: State, answers: Answers) -> Dap:
    rank = state.focus if state.focus is not None and state.focus in answers else min(answers)
    answer = answers[rank]
    if not answer.get("success"):
        return _no(request, str(answer.get("message", "")))
    return _ok(request, numbered(state, rank, answer.get("body") or {}))


def _inspected(request: Dap, answers: Answers) -> Dap:
    answer = next(iter(answers.values()))
    data: dict[str, Any] = {}
    if answer.get("success"):
        try:
            data = ast.literal_eval(answer["body"]["result"])[0]
        except (ValueError, SyntaxError, IndexError, TypeError):  # no rich representation: use its text
            data = {"text/plain": answer["body"]["result"]}
    return _ok(request, {"data": data, "metadata": {}})


def _info(state: State, kernel: Dap) -> Dap:
    body = dict(kernel.get("body", {}))
    ours = [
        {"source": path, "breakpoints": [{"line": p.line} for p in points]}
        for path, points in state.points.items()
        if points
    ]
    paths = {o["source"] for o in ours}
    body["breakpoints"] = [*(b for b in body.get("breakpoints", ()) if b["source"] not in paths), *ours]
    if state.focus is not None and (state.focus in state.paused or state.offers_steps):
        body["stoppedThreads"] = [FIRST_THREAD + state.focus]
    return {**kernel, "body": body}


def _off(state: State) -> State:
    ranks = tuple(
        replace(
            r, attached=False, phase="idle" if r.phase == "paused" else r.phase, place=None, operation=None
        )
        for r in state.ranks
    )
    state = replace(state, ranks=ranks, on=False, offers_steps=False, held_elsewhere=False)
    return replace(state, points={}, filters=(), notes=(), moving="continue", stepping=())


def _ok(request: Dap, body: Dap) -> Dap:
    return {
        "type": "response",
        "request_seq": request.get("seq", 0),
        "seq": request.get("seq", 0),
        "success": True,
        "command": request["command"],
        "body": body,
    }


EMPTY = {
    "stackTrace": "stackFrames",
    "scopes": "scopes",
    "variables": "variables",
    "threads": "threads",
    "setBreakpoints": "breakpoints",
}
"""Command → list that its replies must have, because JupyterLab reads it even from errors. Such errors are
normal: a rank may have continued, or ended, since JupyterLab sent the request."""


def _empty(request: Dap) -> Dap:
    return {EMPTY[request["command"]]: []} if request["command"] in EMPTY else {}


def _no(request: Dap, message: str) -> Dap:
    lines = message.strip().splitlines()
    if lines and lines[0].startswith("Traceback"):  # pydevd's own traceback of an evaluation
        message = lines[-1]
    return {**_ok(request, _empty(request)), "success": False, "message": message}
