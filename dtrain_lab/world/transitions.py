"""The world's transition function, `step`: one handler per event.

Each reply checks whether any rank is still missing. Replies come roughly in rank order, so the check scans
members from the end, where a missing rank is found at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from dtrain_lab.cells import rank_sets as rank_names
from dtrain_lab.cells.errors import STOPPED, broke_device
from dtrain_lab.wire.kinds import WorldPhase
from dtrain_lab.world import actions as do
from dtrain_lab.world import events as on
from dtrain_lab.world.actions import Action
from dtrain_lab.world.events import Event
from dtrain_lab.world.members import Member, Members
from dtrain_lab.world.state import Loss, State

ABORT_AFTER_S = 0.25
"""A Python loop answers SIGINT well within this; a rank that doesn't is waiting in a collective."""
DEAF_AFTER_S = 5.0
"""If neither SIGINT nor an aborted collective frees a rank in this time, the rank is named and its cell ends
without it. The process is not killed: a long call into C may still return, with its variables intact."""
PEERS_AFTER_S = 1.0
"""After the first rank raises, its peers get this long to finish their collectives by themselves."""
FORM_WITHIN_S = 60.0
JOIN_WITHIN_S = 120.0
STOP_WITHIN_S = 2.0
EXIT_WITHIN_S = 10.0
"""Time for the ranks' exit handlers, for example to send the last of a log to a server."""

Moved = tuple[State, list[Action]]
ENDED = ("stopping", "stopped", "failed")


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
        return state, []
    rank = getattr(event, "rank", None)
    if rank is not None and rank >= state.size > 0:
        # late event of a rank that a resize removed; if its process has only now started, it must end
        return state, [do.KillRanks((rank,))] if isinstance(event, on.RankForked | on.RankJoined) else []
    return _HANDLERS[type(event)](state, event)


def _launched(state: State, event: on.Launched) -> Moved:
    members = Members(Member(rank) for rank in range(event.size))
    state = replace(state, phase="starting", members=members, nodes=event.nodes)
    return _fork_when_ready(state)


def _node_ready(state: State, event: on.NodeReady) -> Moved:
    return _fork_when_ready(replace(state, ready_nodes=state.ready_nodes | {event.node}))


def _engines_ready(state: State, event: on.EnginesReady) -> Moved:
    return _fork_when_ready(replace(state, engines_ready=True))


def _fork_when_ready(state: State) -> Moved:
    started = any(m.pid is not None for m in state.members)
    if (
        state.phase != "starting"
        or started
        or not state.engines_ready
        or len(state.ready_nodes) < state.nodes
    ):
        return state, []
    every = tuple(range(state.size))
    return state, [do.ForkRanks(every), do.StartTimer("join", JOIN_WITHIN_S)]


def _node_failed(state: State, event: on.NodeFailed) -> Moved:
    if state.phase == "stopping":
        return state, []
    return _fail(state, "node_failed", event.message, event.hint)


def _rank_forked(state: State, event: on.RankForked) -> Moved:
    if state.members[event.rank].pid is not None:  # already joined: the rank's own hello came first
        return state, []
    return state.member(event.rank, pid=event.pid, lost=False, joined=False, generation=-1), []


def _rank_joined(state: State, event: on.RankJoined) -> Moved:
    if state.members[event.rank].pid not in (None, event.pid):  # a process that has since been replaced
        return state, []
    return _settle(state.member(event.rank, pid=event.pid, joined=True, lost=False))


def _group_formed(state: State, event: on.GroupFormed) -> Moved:
    if event.generation != state.generation or not state.forming:
        return state, []
    state = state.member(event.rank, generation=event.generation)
    if any(m.generation != state.generation for m in reversed(state.members)):
        return state, []
    state = replace(state, forming=False, phase="ready", losses=(), reason=None)
    moved, after = _settle(state)
    return moved, [do.StopTimer("form"), *after]


def _group_failed(state: State, event: on.GroupFailed) -> Moved:
    if event.generation != state.generation or not state.forming:
        return state, []
    message = f"{rank_names.sentence_name([event.rank])} could not connect: {event.message}"
    if broke_device(event.message):
        return _formation_failed(state, message, f"Replace it: %distributed restart {event.rank}")
    return _formation_failed(state, message)


def _formation_failed(state: State, message: str, hint: str = "Restart all ranks.") -> Moved:
    state = replace(state, forming=False)
    if all(m.new for m in state.members):
        return _fail(state, "group_failed", message, "The ranks' log has the details.")
    state = replace(
        state,
        phase="degraded",
        dirty=False,
        reason=("group_failed", message, hint),
    )
    return state, [do.StopTimer("form"), *_end_forming(state)]


def _end_forming(state: State, apart_from: tuple[int, ...] = ()) -> list[Action]:
    """Free ranks that still wait for others in the generation that is not formed: the next one needs them."""
    waiting = tuple(
        m.rank
        for m in state.members
        if m.joined and m.generation != state.generation and m.rank not in apart_from
    )
    return [do.AbortRanks(waiting, hooks=False)] if waiting else []


def _rank_exited(state: State, event: on.RankExited) -> Moved:
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
        return state, [*failed, do.ForkRanks((event.rank,)), do.StartTimer("join", JOIN_WITHIN_S)]
    if state.phase in ("starting", "connecting") and all(m.new for m in state.members):
        message = f"{rank_names.sentence_name([event.rank])} ended while it started: {_how(event)}."
        return _fail(state, "rank_ended", message, _last_line(event.last) or "Its log has the details.")
    state = state.gone(event.rank, lost=True)
    was_forming = state.forming
    loss = Loss(event.rank, event.code, event.last, member.cell, event.how)
    state = replace(state, phase="degraded", forming=False, losses=(*state.losses, loss), reason=None)
    peers = state.busy
    state, timers = _interrupted(state, peers)
    waiting = tuple(m.rank for m in state.members if m.joined) if was_forming else peers
    ends: list[Action] = [do.SignalRanks(peers), *timers] if peers else []
    ends += [do.AbortRanks(waiting)] if waiting else []
    return replace(state, dirty=True), [*failed, do.StopTimer("form"), *ends]


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
        return state, [do.StartTimer("peers", PEERS_AFTER_S)] if peers_wait else []
    ran = [m for m in state.members if m.last == cell]
    if any(m.raised for m in ran) and len({m.sequence for m in ran}) > 1:
        # ranks have issued different numbers of collectives: the next call would match the wrong one
        state = replace(state, dirty=True)
    return _settle(state)


def _interrupt_asked(state: State, event: on.InterruptAsked) -> Moved:
    running = tuple(rank for rank in event.ranks if state.members[rank].cell is not None)
    if not running:
        return state, []
    state, timers = _interrupted(state, running)
    return state, [do.SignalRanks(running), *timers]


def _interrupted(state: State, ranks: tuple[int, ...]) -> Moved:
    """Note an interrupt; ranks that were asked to end before keep the time that they have."""
    new = [r for r in ranks if not state.members[r].interrupted or state.members[r].deaf]
    if not new:
        return state, []
    number = state.interrupts
    state = replace(state.each(new, interrupted=True, interrupt=number), interrupts=number + 1)
    return state, [do.StartTimer("abort", ABORT_AFTER_S, number)]


def _restart_asked(state: State, event: on.RestartAsked) -> Moved:
    living = tuple(rank for rank in event.ranks if state.members[rank].pid is not None)
    gone = tuple(rank for rank in event.ranks if state.members[rank].pid is None)
    for rank in living:
        state = state.member(rank, expected_exit=True)
    for rank in gone:
        state = state.member(rank, lost=False)
    others = tuple(rank for rank in state.busy if rank not in event.ranks)
    state, timers = _interrupted(state, others)
    forming = state.forming
    state = replace(state, phase="rebuilding", dirty=True, forming=False, reason=None)
    acts: list[Action] = [do.StopTimer("form")]
    if forming:
        acts += _end_forming(state, event.ranks)
    if others:
        acts += [do.SignalRanks(others), do.AbortRanks(others), *timers]
    if living:
        acts.append(do.KillRanks(living))
    if gone:
        acts += [do.ForkRanks(gone), do.StartTimer("join", JOIN_WITHIN_S)]
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
        acts += [do.ForkRanks(added), do.StartTimer("join", JOIN_WITHIN_S)]
    if state.lost:
        return replace(state, phase="degraded"), acts
    state, more = _settle(state)
    return state, [*acts, *more]


def _stop_asked(state: State, event: on.StopAsked) -> Moved:
    if state.phase == "stopping":
        return state, []
    failed: list[Action] = [
        do.FailCell(rank, event.why or STOPPED, stopped=not event.why) for rank in state.busy
    ]
    busy = state.busy
    for rank in busy:
        state = state.member(rank, cell=None)
    living = tuple(m.rank for m in state.members if m.pid is not None)
    state = replace(state, phase="stopping", forming=False)
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


def _timer_fired(state: State, event: on.TimerFired) -> Moved:
    match event.timer:
        case "abort":
            still = tuple(m.rank for m in state.members if _runs_on(m, event.interrupt))
            if not still:
                return state, []
            # signal again: the first signal has no effect if it came before the rank began the cell
            deaf = do.StartTimer("deaf", DEAF_AFTER_S, event.interrupt)
            return state, [do.SignalRanks(still), do.AbortRanks(still), deaf]
        case "deaf":
            return _deaf(state, event.interrupt)
        case "peers":
            return _end_peers(state)
        case "form" if state.forming:
            late = [m.rank for m in state.members if m.generation != state.generation]
            return _formation_failed(
                state, f"{rank_names.sentence_name(late)} did not connect in {FORM_WITHIN_S:.0f} s."
            )
        case "join":
            return _joined_too_late(state)
        case "stop" if state.phase == "stopping":
            return replace(state, phase="stopped"), [do.EndWorld()]
        case _:
            return state, []


def _runs_on(member: Member, interrupt: int) -> bool:
    """Whether a rank still runs the cell that this interrupt was to end."""
    return member.cell is not None and member.interrupted and member.interrupt == interrupt


def _deaf(state: State, interrupt: int) -> Moved:
    if not any(_runs_on(m, interrupt) for m in state.members):
        return state, []
    deaf = [m.rank for m in state.members if m.deaf or _runs_on(m, interrupt)]
    verb = "does" if len(deaf) == 1 else "do"
    message = f"{rank_names.sentence_name(deaf)} {verb} not answer the interrupt."
    one = len(deaf) == 1
    wait = "Wait until it does, or replace it" if one else "Wait until they do, or replace them"
    hint = f"{wait}: %distributed restart {rank_names.compact(deaf)}"
    for rank in deaf:
        state = state.member(rank, deaf=True)
    # a rebuild would wait for it as long as it is silent, and no restart is allowed meanwhile
    phase: WorldPhase = "degraded" if state.phase == "rebuilding" else state.phase
    return replace(state, phase=phase, reason=("deaf", message, hint)), [do.GiveUp(tuple(deaf))]


def _end_peers(state: State) -> Moved:
    """Abort the peers of a rank that raised: in a collective they would wait for that rank for ever.

    A peer that is computing is not disturbed; only its next collective fails.
    """
    raised = {m.last for m in state.members if m.raised}
    peers = tuple(m.rank for m in state.members if m.cell is not None and m.cell in raised)
    if not peers:
        return state, []
    state = state.each(peers, aborted=True)
    return state, [do.AbortRanks(peers, hooks=False), do.StartTimer("peers", PEERS_AFTER_S)]


def _joined_too_late(state: State) -> Moved:
    late = [m.rank for m in state.members if not m.joined and not m.lost]
    if not late:
        return state, []
    message = f"{rank_names.sentence_name(late)} did not start in {JOIN_WITHIN_S:.0f} s."
    if state.phase == "starting":
        return _fail(state, "rank_silent", message, "The ranks' log has the details.")
    return replace(state, phase="degraded", reason=("rank_silent", message, "Restart them.")), []


def _settle(state: State) -> Moved:
    """Form a new process group if the world has none or a dirty one, once every rank is joined and idle."""
    if state.forming or state.phase in ENDED:
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


def _fail(state: State, code: str, message: str, hint: str) -> Moved:
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


_HANDLERS: dict[type[Event], Callable[[State, Any], Moved]] = {
    on.Launched: _launched,
    on.NodeReady: _node_ready,
    on.NodeFailed: _node_failed,
    on.EnginesReady: _engines_ready,
    on.RankForked: _rank_forked,
    on.RankJoined: _rank_joined,
    on.GroupFormed: _group_formed,
    on.GroupFailed: _group_failed,
    on.RankExited: _rank_exited,
    on.CellBegan: _cell_began,
    on.CellReplied: _cell_replied,
    on.InterruptAsked: _interrupt_asked,
    on.RestartAsked: _restart_asked,
    on.ResizeAsked: _resize_asked,
    on.StopAsked: _stop_asked,
    on.TimerFired: _timer_fired,
}
