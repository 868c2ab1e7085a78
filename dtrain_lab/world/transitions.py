"""The world's transition function, `step`: one handler per event. Interrupts, exits and the formation of the
process group have modules of their own.

Each reply checks whether any rank is still missing. Replies come roughly in rank order, so the check scans
members from the end, where a missing rank is found at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from dtrain_lab.text import rank_names
from dtrain_lab.world import actions as do
from dtrain_lab.world import events as on
from dtrain_lab.world import exits, formation, interrupts
from dtrain_lab.world.actions import Action, Moved
from dtrain_lab.world.events import Event
from dtrain_lab.world.members import Member, Members
from dtrain_lab.world.state import State


def step(state: State, event: Event) -> Moved:
    """Apply an event to a world.

    Args:
        state: current state.
        event: what the head learned.

    Returns:
        The new state and the actions to take, in order. An outdated event (a late exit, a reply of a
        replaced process) changes nothing.
    """
    if state.phase in ("stopped", "failed"):
        if isinstance(event, on.Launched) and not state.members:
            return _given_ranks(state, event), []  # it has failed before it had any
        return state, []
    rank = getattr(event, "rank", None)
    if rank is not None and rank >= state.size > 0:
        # late event of a rank that a resize removed; if its process has only now started, it must end
        return state, [do.KillRanks((rank,))] if isinstance(event, on.RankForked | on.RankJoined) else []
    return _HANDLERS[type(event)](state, event)


def _launched(state: State, event: on.Launched) -> Moved:
    return _fork_when_ready(replace(_given_ranks(state, event), phase="starting"))


def _given_ranks(state: State, event: on.Launched) -> State:
    members = Members(Member(rank) for rank in range(event.size))
    return replace(state, members=members, nodes=event.nodes)


def _node_ready(state: State, event: on.NodeReady) -> Moved:
    return _fork_when_ready(replace(state, ready_nodes=state.ready_nodes | {event.node}))


def _fork_when_ready(state: State) -> Moved:
    started = any(m.pid is not None for m in state.members)
    if state.phase != "starting" or started or len(state.ready_nodes) < state.nodes:
        return state, []
    every = tuple(range(state.size))
    return state, do.fork(every)


def _node_failed(state: State, event: on.NodeFailed) -> Moved:
    if state.phase == "stopping":
        return state, []
    return exits.fail(state, "node_failed", event.message, event.hint)


def _rank_forked(state: State, event: on.RankForked) -> Moved:
    if state.members[event.rank].pid is not None:  # already joined: the rank's own hello came first
        return state, []
    return state.member(event.rank, pid=event.pid, lost=False, joined=False, generation=-1), []


def _rank_joined(state: State, event: on.RankJoined) -> Moved:
    if state.members[event.rank].pid not in (None, event.pid):  # a process that has since been replaced
        return state, []
    return formation.settle(state.member(event.rank, pid=event.pid, joined=True, lost=False))


def _cell_began(state: State, event: on.CellBegan) -> Moved:
    return state.each(
        event.ranks, cell=event.cell, last=event.cell, interrupted=False, aborted=False, raised=False
    ), []


def _cell_replied(state: State, event: on.CellReplied) -> Moved:
    member = state.members[event.rank]
    cell = member.cell
    state = state.member(
        event.rank,
        cell=None,
        interrupted=False,
        aborted=False,
        deaf=False,
        raised=event.outcome == "raised",
        sequence=event.sequence,
    )
    broken = member.interrupted or member.aborted or event.outcome == "interrupted"
    if not state.dirty and (broken or not event.has_group):
        state = replace(state, dirty=True)
    if state.reason is not None and state.reason[0] == "deaf" and not state.deaf:
        state = replace(state, reason=None)
    if any(m.cell == cell for m in reversed(state.members)):
        peers_wait = event.outcome == "raised" and state.size > 1
        return state, [do.StartTimer("peers", interrupts.PEERS_AFTER_S)] if peers_wait else []
    ran = [m for m in state.members if m.last == cell]
    if any(m.raised for m in ran) and len({m.sequence for m in ran}) > 1:
        # ranks have issued different numbers of collectives: the next call would match the wrong one
        state = replace(state, dirty=True)
    return formation.settle(state)


def _restart_asked(state: State, event: on.RestartAsked) -> Moved:
    living = tuple(rank for rank in event.ranks if state.members[rank].pid is not None)
    gone = tuple(rank for rank in event.ranks if state.members[rank].pid is None)
    for rank in living:
        state = state.member(rank, expected_exit=True)
    for rank in gone:
        state = state.member(rank, lost=False)
    others = tuple(rank for rank in state.busy if rank not in event.ranks)
    state, timers = interrupts.interrupted(state, others)
    forming = state.forming
    state = replace(state, phase="rebuilding", dirty=True, forming=False, reason=None)
    acts: list[Action] = [do.StopTimer("form")]
    if forming:
        acts += formation.end_forming(state, event.ranks)
    if others:
        acts += [do.SignalRanks(others), do.AbortRanks(others), *timers]
    if living:
        acts.append(do.KillRanks(living))
    if gone:
        acts += do.fork(gone)
    return state, acts


def _resize_asked(state: State, event: on.ResizeAsked) -> Moved:
    removed = tuple(m.rank for m in state.members[event.size :] if m.pid is not None)
    added = tuple(range(state.size, event.size))
    members = Members((*state.members[: event.size], *(Member(rank) for rank in added)))
    losses = tuple(loss for loss in state.losses if loss.rank < event.size)
    state = replace(
        state, members=members, losses=losses, phase="rebuilding", dirty=True, forming=False, reason=None
    )
    acts: list[Action] = [do.StopTimer("form")]
    if removed:
        acts.append(do.KillRanks(removed))
    if added:
        acts += do.fork(added)
    if state.lost:
        return replace(state, phase="degraded"), acts
    state, more = formation.settle(state)
    return state, [*acts, *more]


def _timer_fired(state: State, event: on.TimerFired) -> Moved:
    match event.timer:
        case "abort":
            return interrupts.abort(state, event.interrupt)
        case "deaf":
            return interrupts.give_up(state, event.interrupt)
        case "peers":
            return interrupts.abort_peers(state)
        case "form":
            return formation.timed_out(state)
        case "join":
            return _joined_too_late(state)
        case "stop" if state.phase == "stopping":
            return replace(state, phase="stopped"), [do.EndWorld()]
        case _:
            return state, []


def _joined_too_late(state: State) -> Moved:
    late = [m.rank for m in state.members if not m.joined and not m.lost]
    if not late:
        return state, []
    message = f"{rank_names.sentence_name(late)} did not start in {do.JOIN_WITHIN_S:.0f} s."
    if state.phase == "starting":
        return exits.fail(state, "rank_silent", message, "The ranks' log has the details.")
    return replace(state, phase="degraded", reason=("rank_silent", message, "Restart them.")), []


_HANDLERS: dict[type[Event], Callable[[State, Any], Moved]] = {
    on.Launched: _launched,
    on.NodeReady: _node_ready,
    on.NodeFailed: _node_failed,
    on.RankForked: _rank_forked,
    on.RankJoined: _rank_joined,
    on.GroupFormed: formation.group_formed,
    on.GroupFailed: formation.group_failed,
    on.RankExited: exits.rank_exited,
    on.CellBegan: _cell_began,
    on.CellReplied: _cell_replied,
    on.InterruptAsked: interrupts.interrupt_asked,
    on.RestartAsked: _restart_asked,
    on.ResizeAsked: _resize_asked,
    on.StopAsked: exits.stop_asked,
    on.TimerFired: _timer_fired,
}
