"""View of the debugger's state for panel and terminal."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.debugger.state import (
    Breakpoint,
    Collective,
    RankView,
    State,
    StepMode,
    StepsToCollective,
)
from dtrain_lab.text import rank_names
from dtrain_lab.world.paused_ranks import interrupted_in, interrupted_ranks, paused_sentence, stop_error


class SetBreakpoint(Struct, frozen=True):
    """A breakpoint with the path of its file or cell. `error`: what its condition raised in the last cell."""

    path: str
    line: int
    condition: str
    hit: str
    log: str
    error: str = ""


class Waits(Struct, frozen=True):
    """Ranks that can't continue, and the reason as text.

    `reachable`: whether steps can bring the paused ranks to them; not once the cell of one has failed.
    """

    ranks: tuple[int, ...]
    text: str
    reachable: bool = True


class DebugView(Struct, frozen=True):
    """The debugger's state as clients show it.

    `waits`: ranks that wait in a collective for paused ranks. `failed`: whether the last cell failed.
    `pausing`: ranks that were asked to pause, and stop when their current calls return.
    `stepping`: other ranks, which take a step of the user's. `bringing`: steps of the debugger's own.
    """

    on: bool
    focus: int | None
    mode: StepMode
    chosen: tuple[int, ...]
    ranks: tuple[RankView, ...]
    points: tuple[SetBreakpoint, ...]
    code: str
    sentence: str
    waits: tuple[Waits, ...]
    notes: tuple[str, ...]
    failed: bool
    pausing: tuple[int, ...] = ()
    stepping: tuple[int, ...] = ()
    cells: dict[str, str] = {}
    """In a job, path of a cell → its name there, such as "[4]"."""
    world: str = ""
    """Id of the cluster or job; empty before there is one."""
    error: str = ""
    """The error at which paused ranks have stopped, as one line."""
    raised: tuple[int, ...] = ()
    """The paused ranks that raised it."""
    interrupted: tuple[int, ...] = ()
    """The paused ranks that stand where they were interrupted, perhaps by that error."""
    inside: tuple[str, ...] = ()
    """Names of the collectives that they were interrupted in; empty if that is not known."""
    only_interrupted: bool = False
    """Whether the last cell was interrupted and raised no error on the ranks that can be looked at."""
    bringing: StepsToCollective | None = None
    reached: bool = False
    """Whether a rank has stopped since the cell began."""
    held_elsewhere: bool = False
    """Whether the debugger was refused, as another client debugs the ranks."""


def view(state: State) -> DebugView:
    """Convert the debugger's state to its view."""
    state = shown_state(state)
    code, sentence = _sentence(state)
    stopped = _stopped_at(state)
    error, interrupted = stop_error(stopped), interrupted_ranks(stopped)
    return DebugView(
        state.on,
        state.focus,
        state.mode,
        state.chosen,
        state.ranks,
        tuple(_point(state, path, point) for path, points in state.points.items() for point in points),
        code,
        sentence,
        waits(state) if state.paused else (),
        notes(state),
        state.outcome.failed,
        state.pausing,
        _stepping(state),
        state.names if state.texts else {},
        state.world,
        error.text if error else "",
        error.ranks if error else (),
        interrupted,
        interrupted_in(interrupted, state.interrupted),
        state.outcome.failed and bool(state.outcome.unfinished) and not state.outcome.raised,
        state.bringing,
        state.reached,
        state.held_elsewhere,
    )


def shown_state(state: State) -> State:
    """Return the state as clients show it: ranks that are brought to a collective run until they are there.

    An editor, which shows the stops of all ranks at once, gets each of them.

    Args:
        state: The debugger's state.
    """
    if not is_steady(state):
        return state
    ranks = tuple(_runs(r) if brings(state, r.rank) else r for r in state.ranks)
    return replace(state, ranks=ranks, stepping=tuple(r for r in state.stepping if not brings(state, r)))


def is_steady(state: State) -> bool:
    """Whether the stops of some ranks are not shown now."""
    return state.bringing is not None and not state.editor and not state.ended


def brings(state: State, rank: int | None) -> bool:
    """Whether a rank is brought to a collective, so that its stops are not shown.

    Args:
        state: The debugger's state.
        rank: The rank; None is no rank.
    """
    return is_steady(state) and state.bringing is not None and rank in state.bringing.ranks


def _runs(rank: RankView) -> RankView:
    if rank.phase not in ("paused", "running"):
        return rank
    return replace(rank, phase="running", reason="", text="", failed=False, place=None, operation=None)


def _stopped_at(state: State) -> dict[int, str]:
    """Paused rank → the error that it has stopped at; empty for another reason."""
    return {r.rank: r.text if r.reason == "exception" else "" for r in state.ranks if r.phase == "paused"}


def notes(state: State) -> tuple[str, ...]:
    """What a user should know about the debugger, first about time-outs that it does not extend."""
    more = (*state.notes, state.gave_up) if state.gave_up else state.notes
    groups: dict[str, list[int]] = {}
    for rank, name in sorted(state.began_before.items()):
        groups.setdefault(name, []).append(rank)
    if not groups:
        return more
    first, *rest = (f"{name} on {rank_names.name(ranks)}" for name, ranks in groups.items())
    kept = f"{first} began before the debugger was turned on, and keeps its time-out."
    if rest:
        *middle, last = rest
        names = ", ".join((first, *middle))
        kept = f"{names} and {last} began before the debugger was turned on, and keep their time-outs."
    return (kept, *more)


def waits(state: State) -> tuple[Waits, ...]:
    """Group the ranks that wait in a collective for paused ranks, with the reason as text."""
    groups: dict[Collective, list[int]] = {}
    for rank, operation in state.waiting.items():
        groups.setdefault(operation, []).append(rank)
    return tuple(_wait(state, tuple(ranks), operation) for operation, ranks in groups.items())


def _wait(state: State, ranks: tuple[int, ...], operation: Collective) -> Waits:
    members = operation.ranks or tuple(range(len(state.ranks)))
    for_whom = [r for r in members if r in state.paused]
    reachable = not any(state.ranks[r].failed for r in for_whom)
    return Waits(ranks, _why(ranks, operation, for_whom), reachable)


def _why(ranks: tuple[int, ...], operation: Collective, for_whom: list[int]) -> str:
    verb = "waits" if len(ranks) == 1 else "wait"
    text = f"{rank_names.sentence_name(ranks)} {verb} in {operation.name}"
    return f"{text} for {rank_names.name(for_whom)}." if for_whom else f"{text}."


def _point(state: State, path: str, point: Breakpoint) -> SetBreakpoint:
    errors = [w for w in state.wrong if w.path == path and w.line == point.line]
    error = "; ".join(f"{w.text} (on {rank_names.name(w.ranks)})" for w in errors)
    return SetBreakpoint(path, point.line, point.condition, point.hit, point.log, error)


UNWATCHED = "The job goes on, but its head has ended."
"""Of a job whose head was killed: its ranks run, and can't be debugged."""


def _sentence(state: State) -> tuple[str, str]:
    if not state.on and state.ended and state.texts:  # the page turns it off with the job
        if state.unwatched:
            return "off_unwatched", f"{UNWATCHED} The debugger is off."
        return "off_ended", "The job has ended. The debugger is off."
    if not state.on:
        return "off", "The debugger is off."
    if state.bringing is not None and not state.ended:  # between two steps, the ranks are paused
        return "bringing", _bringing(state.bringing)
    if state.paused:
        waiting = {r: o.name for r, o in state.waiting.items()}
        return "paused", paused_sentence(_stopped_at(state), waiting, inside=state.interrupted)
    if state.ended and state.unwatched:
        return "ended", UNWATCHED
    if state.ended:
        return "ended", f"The {'job' if state.texts else 'cluster'} has ended."
    if state.attaching:
        return "attaching", f"Attaching to {rank_names.count(len(state.ranks))}…"
    gone = [r.rank for r in state.ranks if r.phase == "gone"]
    if gone:
        return "lost", f"{rank_names.sentence_name(gone)} {'was' if len(gone) == 1 else 'were'} lost."
    if stepping := _stepping(state):
        step = f"Stepping {rank_names.name(stepping)}."
        return "stepping", f"{step} {_pausing(state.pausing)}" if state.pausing else step
    if state.pausing:
        return "pausing", _pausing(state.pausing)
    running = [r for r in state.ranks if r.phase == "running"]
    if running:
        verb = "runs" if len(running) == 1 else "run"
        waited = any(state.points.values()) and not state.reached
        missed = " No breakpoint has been reached yet." if waited else ""
        return "running", f"{rank_names.count(len(running))} {verb}.{missed}"
    if not state.attached:
        return "empty", "No ranks yet: run a %%distributed cell."
    return "ready", f"Ready to debug {rank_names.count(len(state.attached))}."


def _stepping(state: State) -> tuple[int, ...]:
    """Ranks that take a step of the user's, and were not asked to pause during it."""
    return tuple(r for r in state.stepping if r not in state.pausing)


def _bringing(steps: StepsToCollective) -> str:
    ranks, waiting = rank_names.name(steps.ranks), rank_names.name(steps.waiting)
    where = f"where {waiting} {'waits' if len(steps.waiting) == 1 else 'wait'}"
    if not steps.late:
        return f"Stepping {ranks} to {steps.name}, {where}."
    have = "has" if len(steps.ranks) == 1 else "have"
    ranks = rank_names.sentence_name(steps.ranks)
    return f"{ranks} {have} not come to {steps.name} yet, {where}. Pause ends the steps."


def _pausing(ranks: tuple[int, ...]) -> str:
    name = rank_names.name(ranks)
    if len(ranks) == 1:
        return f"Pausing {name}: it stops when its current call returns."
    return f"Pausing {name}: they stop when their current calls return."
