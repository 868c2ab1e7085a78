"""All ranks under one debugger, as a value."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

Dap = dict[str, Any]
"""A message of the debug adapter protocol."""
Phase = Literal["idle", "running", "paused", "gone"]
StepMode = Literal["all", "this", "some"]

FIRST_THREAD = 1001
"""Rank r is thread 1001 + r: a kernel's own threads have small numbers."""
REFERENCES = ("frameId", "variablesReference", "srcFrameId")
PER_RANK = 10_000_000
"""Frame and variable n of rank r is (r + 1) x 10,000,000 + n."""


class Place(Struct, frozen=True):
    """Where a rank stands: a cell's or a file's path as the front end knows it."""

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
    """One rank, as its debugger sees it."""

    rank: int
    phase: Phase = "idle"
    attached: bool = False
    reason: str = ""
    text: str = ""
    place: Place | None = None
    operation: Collective | None = None


class Breakpoint(Struct, frozen=True):
    """A breakpoint. `condition` may use `rank`; `hit` is a count ("3", ">= 3"); `log` prints, and goes on."""

    line: int
    condition: str = ""
    hit: str = ""
    log: str = ""


class State(Struct, frozen=True):
    """What a debugger of ranks knows.

    `on`: somebody debugs. `moving`: how ranks were last sent on. `cells`: path → text of cells that run on
    ranks. `points`: path → breakpoints. `depth`: the frame that is looked at, 0 being the innermost.
    """

    ranks: tuple[RankView, ...] = ()
    on: bool = False
    focus: int | None = None
    mode: StepMode = "all"
    chosen: tuple[int, ...] = ()
    moving: Literal["", "step", "continue"] = "continue"
    cells: dict[str, str] = {}
    names: dict[str, str] = {}
    """Path of a cell → the name that ranks know it by; its own where it is not in here."""
    texts: dict[str, str] = {}
    """Of a job: text of a cell → its name there. Empty in a cluster, where the magic tells cells of ranks."""
    prefix: str = ""
    """Path that the front end gives to cells, up to their name."""
    folders: tuple[str, str] | None = None
    """Of a job: the notebook's folder here, and its copy there."""
    points: dict[str, tuple[Breakpoint, ...]] = {}
    filters: tuple[str, ...] = ()
    depth: int = 0
    failed: bool = False
    """The last cell has: where it did can be looked at."""
    notes: tuple[str, ...] = ()

    @property
    def paused(self) -> tuple[int, ...]:
        """Ranks that stand."""
        return tuple(r.rank for r in self.ranks if r.phase == "paused")

    @property
    def attached(self) -> tuple[int, ...]:
        """Ranks whose debugger is on."""
        return tuple(r.rank for r in self.ranks if r.attached)

    @property
    def waiting(self) -> dict[int, Collective]:
        """Ranks that run, and wait in a collective."""
        return {r.rank: r.operation for r in self.ranks if r.phase == "running" and r.operation is not None}

    def rank(self, rank: int, **changes: object) -> State:
        """The same state with one rank changed."""
        ranks = list(self.ranks)
        ranks[rank] = replace(ranks[rank], **changes)
        return replace(self, ranks=tuple(ranks))


def sized(state: State, size: int) -> State:
    """The state for a world of this size: ranks that stay keep what is known of them."""
    known = {r.rank: r for r in state.ranks}
    ranks = tuple(known.get(rank, RankView(rank)) for rank in range(size))
    focus = state.focus if state.focus is not None and state.focus < size else None
    return replace(state, ranks=ranks, focus=focus, chosen=tuple(r for r in state.chosen if r < size))


def outward(rank: int, number: int) -> int:
    """A rank's frame or variable as the front end knows it."""
    return (rank + 1) * PER_RANK + number


def inward(number: int) -> tuple[int, int]:
    """Rank, and its own number, of a frame or variable."""
    return number // PER_RANK - 1, number % PER_RANK


def movers(state: State) -> tuple[int, ...]:
    """Ranks that a step or continue moves now."""
    if state.mode == "all":
        return state.paused
    wanted = state.chosen if state.mode == "some" else (state.focus,)
    return tuple(r for r in state.paused if r in wanted)


def rank_of(arguments: Dap) -> int | None:
    """The rank that a request's numbers name; None for the kernel's own threads and frames."""
    thread = arguments.get("threadId")
    if isinstance(thread, int) and thread >= FIRST_THREAD:
        return thread - FIRST_THREAD
    for key in REFERENCES:
        value = arguments.get(key)
        if isinstance(value, int) and value >= PER_RANK:
            return inward(value)[0]
    return None


def path_in(request: Dap) -> str:
    """The source that a request is about."""
    return str(request["arguments"]["source"].get("path", ""))
