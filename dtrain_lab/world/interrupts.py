"""Interrupts: from the signal until ranks are free again, or are reported because they don't answer."""

from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.text import rank_names
from dtrain_lab.wire.kinds import WorldPhase
from dtrain_lab.world import actions as do
from dtrain_lab.world import events as on
from dtrain_lab.world.actions import Moved
from dtrain_lab.world.members import Member
from dtrain_lab.world.state import State

ABORT_AFTER_S = 0.25
"""A Python loop answers SIGINT well within this; a rank that doesn't is waiting in a collective."""
DEAF_AFTER_S = 5.0
"""If neither SIGINT nor an aborted collective frees a rank in this time, the rank is named and its cell ends
without it. The process is not killed: a long call into C may still return, with its variables intact."""
PEERS_AFTER_S = 1.0
"""After the first rank raises, its peers get this long to finish their collectives by themselves."""


def interrupt_asked(state: State, event: on.InterruptAsked) -> Moved:
    """Interrupt those of the ranks that run a cell.

    Args:
        state: State of the world.
        event: The request, with its ranks.

    Returns:
        The new state, and the actions that follow.
    """
    running = tuple(rank for rank in event.ranks if state.members[rank].cell is not None)
    if not running:
        return state, []
    state, timers = interrupted(state, running)
    return state, [do.SignalRanks(running), *timers]


def interrupted(state: State, ranks: tuple[int, ...]) -> Moved:
    """Note an interrupt; ranks that were interrupted before keep their deadline.

    Args:
        state: State of the world.
        ranks: Ranks that are interrupted.

    Returns:
        The new state, and the timer of the abort if a rank has a new deadline.
    """
    new = [r for r in ranks if not state.members[r].interrupted or state.members[r].deaf]
    if not new:
        return state, []
    number = state.interrupts
    state = replace(state.each(new, interrupted=True, interrupt=number), interrupts=number + 1)
    return state, [do.StartTimer("abort", ABORT_AFTER_S, number)]


def abort(state: State, interrupt: int) -> Moved:
    """Abort the collectives of ranks that a first signal did not free.

    Args:
        state: State of the world.
        interrupt: Number of the interrupt whose timer has expired.

    Returns:
        The new state, and the actions that follow.
    """
    still = tuple(m.rank for m in state.members if _runs_on(m, interrupt))
    if not still:
        return state, []
    # signal again: the first signal has no effect if it came before the rank began the cell
    timer = do.StartTimer("deaf", DEAF_AFTER_S, interrupt)
    return state, [do.SignalRanks(still), do.AbortRanks(still), timer]


def _runs_on(member: Member, interrupt: int) -> bool:
    """Whether a rank still runs the cell that this interrupt should end."""
    return member.cell is not None and member.interrupted and member.interrupt == interrupt


def give_up(state: State, interrupt: int) -> Moved:
    """Name the ranks that this interrupt did not free, and end their cell without them.

    Args:
        state: State of the world.
        interrupt: Number of the interrupt whose timer has expired.

    Returns:
        The new state, and the actions that follow.
    """
    if not any(_runs_on(m, interrupt) for m in state.members):
        return state, []
    deaf = [m.rank for m in state.members if m.deaf or _runs_on(m, interrupt)]
    verb = "does" if len(deaf) == 1 else "do"
    message = f"{rank_names.sentence_name(deaf)} {verb} not answer the interrupt."
    single = len(deaf) == 1
    wait = "Wait until it does, or replace it" if single else "Wait until they do, or replace them"
    hint = f"{wait}: %distributed restart {rank_names.compact(deaf)}"
    for rank in deaf:
        state = state.member(rank, deaf=True)
    # a rebuild would wait for it as long as it is silent, and no restart is allowed meanwhile
    phase: WorldPhase = "degraded" if state.phase == "rebuilding" else state.phase
    return replace(state, phase=phase, reason=("deaf", message, hint)), [do.GiveUp(tuple(deaf))]


def abort_peers(state: State) -> Moved:
    """Abort the peers of a rank that raised: in a collective they would wait for that rank forever.

    A peer that is computing is not disturbed; only its next collective fails.
    """
    raised = {m.last for m in state.members if m.raised}
    peers = tuple(m.rank for m in state.members if m.cell is not None and m.cell in raised)
    if not peers:
        return state, []
    state = state.each(peers, aborted=True)
    return state, [do.AbortRanks(peers, hooks=False), do.StartTimer("peers", PEERS_AFTER_S)]
