"""Formation of the process group: its start, its end, and the state after a failure."""

from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.cells.errors import broke_device
from dtrain_lab.text import rank_names
from dtrain_lab.wire.kinds import ENDING
from dtrain_lab.world import actions as do
from dtrain_lab.world import events as on
from dtrain_lab.world.actions import Action, Moved
from dtrain_lab.world.exits import fail
from dtrain_lab.world.state import State

FORM_WITHIN_S = 60.0


def group_formed(state: State, event: on.GroupFormed) -> Moved:
    """Note that a rank is in the group; with the last one the world is ready.

    Args:
        state: State of the world.
        event: The rank's report; that of an earlier generation is ignored.

    Returns:
        The new state, and the actions that follow.
    """
    if event.generation != state.generation or not state.forming:
        return state, []
    state = state.member(event.rank, generation=event.generation)
    if any(m.generation != state.generation for m in reversed(state.members)):
        return state, []
    state = replace(state, forming=False, phase="ready", losses=(), reason=None)
    moved, after = settle(state)
    return moved, [do.StopTimer("form"), *after]


def group_failed(state: State, event: on.GroupFailed) -> Moved:
    """End a formation in which a rank could not connect.

    Args:
        state: State of the world.
        event: The rank's report, with the reason.

    Returns:
        The new state, and the actions that follow.
    """
    if event.generation != state.generation or not state.forming:
        return state, []
    message = f"{rank_names.sentence_name([event.rank])} could not connect: {event.message}"
    if broke_device(event.message):
        return _formation_failed(state, message, f"Replace it: %distributed restart {event.rank}")
    return _formation_failed(state, message)


def timed_out(state: State) -> Moved:
    """End a formation that takes too long, and name the ranks that it waits for."""
    if not state.forming:
        return state, []
    late = [m.rank for m in state.members if m.generation != state.generation]
    return _formation_failed(
        state, f"{rank_names.sentence_name(late)} did not connect in {FORM_WITHIN_S:.0f} s."
    )


def _formation_failed(state: State, message: str, hint: str = "Restart all ranks.") -> Moved:
    state = replace(state, forming=False)
    if all(m.new for m in state.members):
        return fail(state, "group_failed", message, "The ranks' log has the details.")
    state = replace(
        state,
        phase="degraded",
        dirty=False,
        reason=("group_failed", message, hint),
    )
    return state, [do.StopTimer("form"), *end_forming(state)]


def end_forming(state: State, apart_from: tuple[int, ...] = ()) -> list[Action]:
    """Free ranks that still wait for others in the failed generation, because the next one needs them.

    Args:
        state: State of the world.
        apart_from: Ranks whose processes are replaced, and so need no abort.

    Returns:
        The actions; none if no rank waits.
    """
    waiting = tuple(
        m.rank
        for m in state.members
        if m.joined and m.generation != state.generation and m.rank not in apart_from
    )
    return [do.AbortRanks(waiting, hooks=False)] if waiting else []


def settle(state: State) -> Moved:
    """Form a new process group if the world has none or a dirty one, once every rank is joined and idle."""
    if state.forming or state.phase in ENDING:
        return state, []
    if any(m.lost or not m.joined or m.expected_exit or m.cell is not None for m in reversed(state.members)):
        return _degrade(state)
    newcomers = tuple(m.rank for m in state.members if m.new)
    if not newcomers and not state.dirty:
        return state, []
    first = len(newcomers) == state.size and state.phase == "starting"
    state = replace(
        state,
        phase="connecting" if first else "rebuilding",
        generation=state.generation if first else state.generation + 1,
        forming=True,
        dirty=False,
    )
    acts: list[Action] = [
        do.StopTimer("join"),
        do.StopTimer("abort"),
        do.StopTimer("deaf"),
        do.StopTimer("peers"),
        do.StartTimer("form", FORM_WITHIN_S),
        do.FormGroup(state.generation, newcomers),
    ]
    return state, acts


def _degrade(state: State) -> Moved:
    """End a restart whose ranks are back while others are still lost: no group can form without those."""
    if state.phase != "rebuilding":
        return state, []
    if any(m.expected_exit or not (m.joined or m.lost) for m in reversed(state.members)) or not state.lost:
        return state, []
    return replace(state, phase="degraded"), [do.StopTimer("join")]
