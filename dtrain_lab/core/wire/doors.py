"""What doors (server, kernel, terminal, Python) and a head say to each other."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from dtrain_lab.core.cluster import CellRecord, CellResult, Cluster, Stack
from dtrain_lab.core.cluster import Output as ClusterOutput
from dtrain_lab.core.history import Point
from dtrain_lab.core.kinds import CommKind, LeaseKind
from dtrain_lab.core.plan import Plan, Request
from dtrain_lab.core.wire import VERSION
from dtrain_lab.core.wire.links import CellOutput


class Body(Struct, frozen=True, tag_field="k", omit_defaults=True):
    """Base of what a door asks."""


class Lease(Struct, frozen=True):
    """Someone who keeps a world alive: a process of this host, told apart by its start time."""

    kind: LeaseKind
    host: str
    pid: int
    started: float
    notebook: str | None = None


class Launch(Body, frozen=True, tag="launch"):
    """Make this head, which has no ranks yet, the head of a world."""

    plan: Plan
    request: Request
    name: str
    owner: str


class Hold(Body, frozen=True, tag="hold"):
    """Take a lease; `attach` also makes the lease's notebook one of the cluster's."""

    lease: Lease
    attach: bool = False


class Release(Body, frozen=True, tag="release"):
    """Give a lease back, in order."""

    lease: Lease


class Info(Body, frozen=True, tag="info"):
    """Ask for the cluster."""


class Clock(Body, frozen=True, tag="clock"):
    """Ask for the time, seconds since 1970 by the head's clock."""


class Watch(Body, frozen=True, tag="watch"):
    """Ask for `Changed` at most every `period_s` seconds; 0 ends it. Renewed within 10 s or forgotten."""

    period_s: float


class Run(Body, frozen=True, tag="run"):
    """Run a cell; output arrives as `CellOutput`, the end as `CellEnded`."""

    cell: str
    code: str
    label: str
    ranks: tuple[int, ...] | None = None
    first_line: int = 1
    notebook: str | None = None
    timeout_s: float | None = None
    cell_id: str | None = None
    detached: bool = False
    """Nobody waits: output goes to the journal only, until somebody follows."""
    aborts: bool = False
    """This door's cells that wait are withdrawn if this one fails, and this one if an earlier one does."""
    source: str = ""
    """Name by which a debugger knows the cell."""


class Follow(Body, frozen=True, tag="follow"):
    """Have the output of a cell, but for the first `shown` pieces of it, and then its end.

    As if this door had run it.
    """

    cell: str
    shown: int = 0


class ListCells(Body, frozen=True, tag="list_cells"):
    """Ask for the cells that the world knows of, oldest first."""


class TakeTurn(Body, frozen=True, tag="take_turn"):
    """Take ranks for something that is no cell (a view's call); answered when it is its turn.

    `pid`: the process that gives the turn back; its end does so, too.
    """

    turn: str
    pid: int
    ranks: tuple[int, ...] | None = None


class GiveTurn(Body, frozen=True, tag="give_turn"):
    """Give a turn back."""

    turn: str


class Comm(Body, frozen=True, tag="comm"):
    """A widget's front end has said something to a rank. `data` is the message's content as JSON."""

    cell: str
    rank: int
    kind: CommKind
    data: bytes
    buffers: tuple[bytes, ...] = ()


class Complete(Body, frozen=True, tag="complete"):
    """Ask for completions at a place in a code, or what is known about the name there; a JSON reply."""

    code: str
    cursor: int
    ranks: tuple[int, ...] | None = None
    inspect: bool = False
    detail: int = 0


class Interrupt(Body, frozen=True, tag="interrupt"):
    """Interrupt what runs; variables are kept."""

    ranks: tuple[int, ...] | None = None
    cell: str | None = None


class Restart(Body, frozen=True, tag="restart"):
    """New processes for these ranks; answers once the world is ready again."""

    ranks: tuple[int, ...] | None = None


class Resize(Body, frozen=True, tag="resize"):
    """Another number of ranks; answers once the world is ready again."""

    plan: Plan


class Stop(Body, frozen=True, tag="stop"):
    """End the world."""


class Stacks(Body, frozen=True, tag="stacks"):
    """Ask for the stacks of ranks."""

    ranks: tuple[int, ...] | None = None


class ReadOutput(Body, frozen=True, tag="read_output"):
    """Ask for outputs after a sequence number, oldest first."""

    after: int = -1
    most: int = 1000
    cell: str | None = None
    """Of one cell only, by its id or its name."""


class ReadHistory(Body, frozen=True, tag="read_history"):
    """Ask for the points of the past after a time, oldest first."""

    since: float = 0.0


NOT_YET = "has not come yet"
"""Answers for a rank of a job that its head does not know so far."""


class HoldDebugger(Body, frozen=True, tag="hold_debugger"):
    """Be the one who debugs this world; renewed within 10 s, or the ranks run on and are let go.

    `who`: for the next one who asks: the notebook, or "a terminal". `pid`: its end lets go at once.
    """

    who: str
    pid: int
    host: str = ""


class LeaveDebugger(Body, frozen=True, tag="leave_debugger"):
    """Debug no more: the ranks run on, and are let go."""


class Debug(Body, frozen=True, tag="debug"):
    """Ask the debuggers of ranks: each has its own arguments. Answered once all have, or time is up."""

    command: str
    arguments: dict[int, bytes]
    """Rank → JSON."""
    within_s: float = 10.0


class Engines(Body, frozen=True, tag="engines"):
    """Ask for ipyparallel's client connection file, once every rank is registered; with `BEGUN` in it."""


BEGUN = "begun"
"""How often the controller has begun: a client of an earlier one gets no answers."""


AnyBody = (
    Launch
    | Hold
    | Release
    | Info
    | Clock
    | Watch
    | Run
    | Follow
    | ListCells
    | TakeTurn
    | GiveTurn
    | Comm
    | Complete
    | Interrupt
    | Restart
    | Resize
    | Stop
    | Stacks
    | ReadOutput
    | ReadHistory
    | HoldDebugger
    | LeaveDebugger
    | Debug
    | Engines
)


class Call(Struct, frozen=True, tag="call", tag_field="k"):
    """A question. `version` is the door's."""

    id: int
    body: AnyBody
    version: int = VERSION


class Answer(Struct, frozen=True, tag="answer", tag_field="k"):
    """An answer: the packed result, or an error as `DtrainError.as_dict` plus `kind`."""

    id: int
    result: bytes = b""
    error: dict[str, Any] | None = None


class CellEnded(Struct, frozen=True, tag="ended", tag_field="k"):
    """A cell has ended on all of its ranks; all its output came before."""

    result: CellResult


class OutputMissing(Struct, frozen=True, tag="missing", tag_field="k"):
    """So many pieces of a cell's output are missing here: this door was late, and they are kept no more."""

    cell: str
    rank: int
    pieces: int


class Changed(Struct, frozen=True, tag="changed", tag_field="k"):
    """The cluster, for a door that watches."""

    cluster: Cluster


class DebugEvent(Struct, frozen=True, tag="debug_event", tag_field="k"):
    """Something has happened in a rank's debugger, for the door that holds it."""

    rank: int
    data: bytes


ToDoor = Answer | CellOutput | OutputMissing | CellEnded | Changed | DebugEvent
"""A `CellOutput` is passed on to the door that runs the cell as the rank packed it."""

encode = msgspec.msgpack.Encoder().encode
decode_to_head = msgspec.msgpack.Decoder(Call).decode
decode_to_door = msgspec.msgpack.Decoder(ToDoor).decode

RESULTS: dict[type[Body], Any] = {
    Launch: Cluster,
    Hold: Cluster,
    Release: None,
    Info: Cluster,
    Clock: float,
    Watch: None,
    Run: None,
    Follow: CellResult,
    ListCells: list[CellRecord],
    TakeTurn: None,
    GiveTurn: None,
    Comm: None,
    Complete: bytes,
    Interrupt: Cluster,
    Restart: Cluster,
    Resize: Cluster,
    Stop: None,
    Stacks: list[Stack],
    ReadOutput: list[ClusterOutput],
    ReadHistory: list[Point],
    HoldDebugger: int,
    LeaveDebugger: None,
    Debug: dict[int, bytes],
    Engines: str,
}
"""What each question is answered with."""
