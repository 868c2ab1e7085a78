"""State of a debugger over all ranks: phases, breakpoints, focus; and translation of ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

Dap = dict[str, Any]
"""A message of the debug adapter protocol."""
Phase = Literal["idle", "running", "paused", "gone"]
StepMode = Literal["all", "this", "some"]

FIRST_THREAD = 1001
"""Rank r is thread 1001 + r; the kernel's own threads have smaller ids."""
REFERENCES = ("frameId", "variablesReference", "srcFrameId")
PER_RANK = 10_000_000
"""Frame or variable n of rank r has the id (r + 1) x 10,000,000 + n."""


class SourceLocation(Struct, frozen=True):
    """Where a rank is. `file`: the front end's path of a cell or file."""

    file: str
    line: int
    function: str


class Collective(Struct, frozen=True):
    """A collective that a rank waits in."""

    name: str
    sequence: int | None = None
    shape: tuple[int, ...] | None = None
    ranks: tuple[int, ...] = ()


class RankView(Struct, frozen=True):
    """State of one rank's debugger.

    `reason`, `text`: why it stopped; `failed`: whether at the error that has ended its cell; `operation`: the
    collective that it waits in.
    """

    rank: int
    phase: Phase = "idle"
    attached: bool = False
    reason: str = ""
    text: str = ""
    failed: bool = False
    place: SourceLocation | None = None
    operation: Collective | None = None


class Breakpoint(Struct, frozen=True):
    """A breakpoint.

    `condition` may use `rank`; `hit` is a count ("3", ">= 3"); `log` is printed instead of stopping.
    """

    line: int
    condition: str = ""
    hit: str = ""
    log: str = ""


class Wrong(Struct, frozen=True):
    """An error that a breakpoint's condition raised, and the ranks on which it did."""

    path: str
    line: int
    text: str
    ranks: tuple[int, ...]


class Step(Struct, frozen=True):
    """A step of all ranks that some have yet to take: they had not reached its line when it was ordered.

    `begins`: where it begins; `places`: these, and where the steps before it began, which late ranks have
    yet to take, too; `late`: the ranks.
    """

    command: str
    begins: tuple[SourceLocation | None, ...]
    places: tuple[SourceLocation | None, ...]
    late: tuple[int, ...]


class StepsToCollective(Struct, frozen=True):
    """Steps of the debugger that bring ranks to a collective, in which others wait for them.

    `name`: the collective's. `late`: whether they take long, as those of a rank that never comes there.
    """

    ranks: tuple[int, ...]
    waiting: tuple[int, ...]
    name: str
    late: bool = False


class Outcome(Struct, frozen=True):
    """How a cell ended.

    `failed`: whether it failed; its frames can still be inspected. `raised`: ranks on which it raised an
    error. `unfinished`: these, and ranks on which it was interrupted, perhaps because of others.
    `cell`: the head's id of it. `inside`: rank → the collective that it was interrupted in, if it is known.
    """

    failed: bool = False
    raised: tuple[int, ...] = ()
    unfinished: tuple[int, ...] = ()
    cell: str = ""
    inside: dict[int, str] = {}

    def without(self, ranks: Sequence[int]) -> Outcome:
        """Return a copy without ranks whose processes have ended, and with them their frames."""
        raised, left = (tuple(r for r in some if r not in ranks) for some in (self.raised, self.unfinished))
        inside = {rank: name for rank, name in self.inside.items() if rank in left}
        return Outcome(self.failed and (bool(left) or not self.unfinished), raised, left, self.cell, inside)


class JobCode(Struct, frozen=True):
    """A job's code. `texts`: cell text → cell name in the job. `folders`: the notebook's, the job's copy."""

    texts: dict[str, str] = {}
    folders: tuple[str, str] | None = None


class State(Struct, frozen=True):
    """State of a debugger over all ranks.

    `on`: whether a client debugs. `focus`: the rank whose stack is shown. `mode` and `chosen`: which ranks a
    step moves. `moving`: how ranks were last resumed. `cells`: path → text of cells that run on ranks.
    `points`: path → breakpoints.
    """

    ranks: tuple[RankView, ...] = ()
    on: bool = False
    focus: int | None = None
    mode: StepMode = "all"
    chosen: tuple[int, ...] = ()
    moving: Literal["", "step", "continue"] = "continue"
    step: Step | None = None
    """The last step, while ranks have yet to take it."""
    cells: dict[str, str] = {}
    names: dict[str, str] = {}
    """Path of a cell → its name on the ranks, if that differs from the path's last part."""
    texts: dict[str, str] = {}
    """In a job, text of a cell → its name there. Empty in a cluster, where the magic marks cells of ranks."""
    prefix: str = ""
    """The front end's path for cells, up to their name."""
    folders: tuple[str, str] | None = None
    """In a job, the notebook's folder here and its copy on the nodes."""
    editor: bool = False
    """Whether the front end shows all ranks at once, as editors do; JupyterLab shows the focused one."""
    points: dict[str, tuple[Breakpoint, ...]] = {}
    wrong: tuple[Wrong, ...] = ()
    """Errors of breakpoints' conditions in the last cell."""
    filters: tuple[str, ...] = ()
    outcome: Outcome = Outcome()
    """How the last cell ended."""
    interrupted: dict[int, str] = {}
    """Of a failed cell that is looked at: rank → the collective that it was interrupted in."""
    notes: tuple[str, ...] = ()
    held_elsewhere: bool = False
    """Whether the debugger was refused, as another client debugs the ranks."""
    pausing: tuple[int, ...] = ()
    """Running ranks that were asked to pause, and stop once the call that they are in returns."""
    stepping: tuple[int, ...] = ()
    """Ranks that take a step of the user's, and have not stopped after it yet."""
    bringing: StepsToCollective | None = None
    """Steps of the debugger that are being taken."""
    gave_up: str = ""
    """Why such steps have ended before ranks were there, until ranks are moved again."""
    began_before: dict[int, str] = {}
    """Rank → the collective that it was in when the debugger attached, as long as it is in it."""
    reached: bool = False
    """Whether a rank has stopped since the cell began."""
    ended: bool = False
    """Whether the whole world has ended; its ranks then don't count as lost."""
    unwatched: bool = False
    """Whether only the head of a job has ended, and its ranks go on."""
    world: str = ""
    """Id of the cluster or job."""
    attaching: bool = False
    """Whether the debugger is being attached to the ranks of another world than before."""
    offers_steps: bool = False
    """Whether JupyterLab takes the focused rank for stopped, though only others are."""

    @property
    def paused(self) -> tuple[int, ...]:
        """Ranks that are paused."""
        return tuple(r.rank for r in self.ranks if r.phase == "paused")

    @property
    def attached(self) -> tuple[int, ...]:
        """Ranks whose debugger is on."""
        return tuple(r.rank for r in self.ranks if r.attached)

    @property
    def running(self) -> tuple[int, ...]:
        """Ranks that run while their debugger is on."""
        return tuple(r.rank for r in self.ranks if r.attached and r.phase == "running")

    @property
    def waiting(self) -> dict[int, Collective]:
        """Running ranks that wait in a collective → the collective."""
        return {r.rank: r.operation for r in self.ranks if r.phase == "running" and r.operation is not None}

    def unknown_waits(self) -> State:
        """Return a copy in which no rank waits: where ranks are is not looked up while all of them run."""
        views = tuple(replace(r, operation=None) if r.phase == "running" else r for r in self.ranks)
        return replace(self, ranks=views)

    def resumed(self, ranks: Sequence[int]) -> State:
        """Return a copy in which these ranks are not in their first collective any more."""
        if not any(rank in self.began_before for rank in ranks):
            return self
        return replace(
            self, began_before={r: name for r, name in self.began_before.items() if r not in ranks}
        )

    def rank(self, rank: int, **changes: object) -> State:
        """Return a copy with one rank's fields changed.

        Args:
            rank: Number of the rank.
            **changes: New values of fields of its `RankView`.
        """
        ranks = list(self.ranks)
        ranks[rank] = replace(ranks[rank], **changes)
        if ranks[rank].phase == "running":
            return replace(self, ranks=tuple(ranks))
        return replace(self, ranks=tuple(ranks)).moves_no_more((rank,))

    def moves_no_more(self, ranks: Sequence[int]) -> State:
        """Return a copy in which these ranks neither take a step nor are to pause."""
        moving = (self.pausing, self.stepping)
        pausing, stepping = (tuple(r for r in some if r not in ranks) for some in moving)
        return replace(self, pausing=pausing, stepping=stepping)


def sized(state: State, size: int) -> State:
    """Adapt the state to a new world size; remaining ranks keep their state."""
    views = {r.rank: r for r in state.ranks}
    ranks = tuple(views.get(rank, RankView(rank)) for rank in range(size))
    focus = state.focus if state.focus is not None and state.focus < size else None
    chosen = tuple(r for r in state.chosen if r < size)
    offers = state.offers_steps and focus is not None
    state = state.moves_no_more(range(size, len(state.ranks)))
    return replace(state, ranks=ranks, focus=focus, chosen=chosen, offers_steps=offers)


def outward(rank: int, number: int) -> int:
    """Convert a rank's frame or variable id to the front end's.

    Args:
        rank: The rank.
        number: Id of a frame or variable, valid in that rank only.
    """
    return (rank + 1) * PER_RANK + number


def inward(number: int) -> tuple[int, int]:
    """Convert the front end's frame or variable id to a rank and that rank's own id."""
    return number // PER_RANK - 1, number % PER_RANK


def movers(state: State) -> tuple[int, ...]:
    """Return the paused ranks that a step or continue moves."""
    if state.mode == "all":
        return state.paused
    wanted = state.chosen if state.mode == "some" else (state.focus,)
    return tuple(r for r in state.paused if r in wanted)


def rank_of(arguments: Dap) -> int | None:
    """Return the rank that a request's ids belong to; None for the kernel's own threads and frames."""
    thread = arguments.get("threadId")
    if isinstance(thread, int) and thread >= FIRST_THREAD:
        return thread - FIRST_THREAD
    for key in REFERENCES:
        value = arguments.get(key)
        if isinstance(value, int) and value >= PER_RANK:
            return inward(value)[0]
    return None


def to_rank(state: State, request: Dap) -> Dap:
    """Direct a request for the stack of thread 1 to the focused rank, if JupyterLab takes that for stopped.

    JupyterLab 4.2 asks for that thread, whichever has stopped. The kernel's own must not be paused.

    Args:
        state: The debugger's state.
        request: The front end's request.
    """
    focus, arguments = state.focus, request.get("arguments") or {}
    if request["command"] != "stackTrace" or arguments.get("threadId") != 1 or focus is None:
        return request
    if focus not in state.paused and not state.offers_steps:
        return request
    return {**request, "arguments": {**arguments, "threadId": FIRST_THREAD + focus}}


def path_in(request: Dap) -> str:
    """Return the path of the source in a request."""
    return str(request["arguments"]["source"].get("path", ""))
