"""Exits: of a rank's process, expected or not, and of the whole world, stopped or failed."""

from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.cells.errors import STOPPED
from dtrain_lab.text import rank_names
from dtrain_lab.world import actions as do
from dtrain_lab.world import events as on
from dtrain_lab.world.actions import Action, Moved
from dtrain_lab.world.interrupts import interrupted
from dtrain_lab.world.state import Loss, State

STOP_WITHIN_S = 2.0
EXIT_WITHIN_S = 10.0
"""Time for the ranks' exit handlers, for example to send the last of a log to a server."""


def rank_exited(state: State, event: on.RankExited) -> Moved:
    """Replace the process, note a loss, or continue the stop or the failed start that the exit belongs to.

    Args:
        state: State of the world.
        event: The rank's exit; that of an earlier process is ignored.

    Returns:
        The new state, and the actions that follow.
    """
    member = state.members[event.rank] if event.rank < state.size else None
    if member is None or member.pid != event.pid:
        return state, []
    if state.phase == "stopping":
        state = state.member(event.rank, pid=None, joined=False, cell=None)
        if any(m.pid is not None for m in state.members):
            return state, []
        return replace(state, phase="stopped"), [do.StopTimer("stop"), do.EndWorld()]
    failed: list[Action] = [do.FailCell(event.rank, _how(event))] if member.cell is not None else []
    if member.expected_exit:
        state = state.gone(event.rank, expected_exit=False)
        return state, [*failed, *do.fork((event.rank,))]
    if state.phase in ("starting", "connecting") and all(m.new for m in state.members):
        message = f"{rank_names.sentence_name([event.rank])} ended while it started: {_how(event)}."
        return fail(state, "rank_ended", message, _last_line(event.last) or "Its log has the details.")
    state = state.gone(event.rank, lost=True)
    was_forming = state.forming
    loss = Loss(event.rank, event.code, event.last, member.cell, event.how, event.fault)
    state = replace(state, phase="degraded", forming=False, losses=(*state.losses, loss), reason=None)
    peers = state.busy
    state, timers = interrupted(state, peers)
    waiting = tuple(m.rank for m in state.members if m.joined) if was_forming else peers
    ends: list[Action] = [do.SignalRanks(peers), *timers] if peers else []
    ends += [do.AbortRanks(waiting)] if waiting else []
    return replace(state, dirty=True), [*failed, do.StopTimer("form"), *ends]


def stop_asked(state: State, event: on.StopAsked) -> Moved:
    """End all ranks: idle ones by a normal exit, the others at once.

    Args:
        state: State of the world.
        event: Why it is stopped, and by whom.

    Returns:
        The new state, and the actions that follow.
    """
    if state.phase == "stopping":
        return state, []
    failed: list[Action] = [
        do.FailCell(rank, event.why or STOPPED, stopped=not event.why, ending=event.ending)
        for rank in state.busy
    ]
    busy = state.busy
    for rank in busy:
        state = state.member(rank, cell=None)
    living = tuple(m.rank for m in state.members if m.pid is not None)
    reason = ("ended", event.why, "") if event.why else state.reason
    state = replace(state, phase="stopping", forming=False, ending=event.ending, reason=reason)
    if not living:
        return replace(state, phase="stopped"), [*failed, do.EndWorld()]
    # only idle ranks on the link can process a request to exit; the others are killed
    free = tuple(
        m.rank for m in state.members if m.rank in living and m.joined and not m.deaf and m.rank not in busy
    )
    others = tuple(rank for rank in living if rank not in free)
    ends: list[Action] = [do.KillRanks(others)] if others else []
    ends += [do.EndRanks(free)] if free else []
    return state, [*failed, *ends, do.StartTimer("stop", EXIT_WITHIN_S if free else STOP_WITHIN_S)]


def fail(state: State, code: str, message: str, hint: str) -> Moved:
    """End a world that can't continue.

    Args:
        state: State of the world.
        code: Code of the reason, for programs.
        message: What happened.
        hint: What the user can do.

    Returns:
        The new state, and the actions that follow.
    """
    failed: list[Action] = [do.FailCell(rank, message) for rank in state.busy]
    return replace(state, phase="failed", reason=(code, message, hint)), [*failed, do.EndWorld()]


def _how(event: on.RankExited) -> str:
    return event.how or how_it_ended(event.code)


def how_it_ended(code: int) -> str:
    """Describe an exit code: "killed by signal 9 (SIGKILL)", "exited with code 3"."""
    if code >= 0:
        return f"exited with code {code}"
    import signal  # names only

    try:
        return f"killed by signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"killed by signal {-code}"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
