"""Requests about cells: running and following them, exclusive use of ranks, comms, completion, output."""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import field

from dtrain_lab.wire.cells import CellRecord, CellResult, Output
from dtrain_lab.wire.clients.base import Body
from dtrain_lab.wire.codec.encode import encode as encode
from dtrain_lab.wire.kinds import CellKind, CommKind
from dtrain_lab.wire.metrics.diagnosis import Diagnosis, Tried


class Diagnose(Body, frozen=True, tag="diagnose"):
    """Measure what takes a training step's time; queued like a cell.

    `cell`: its id in the queue. A request with the id of an earlier one waits for the same measurement.
    """

    result: ClassVar[Any] = Diagnosis
    repeatable: ClassVar[bool] = True
    cell: str


class TryAdvice(Body, frozen=True, tag="try_advice"):
    """Measure the gain of advice, in steps that are undone; queued like a cell.

    `cell`: its id in the queue, as in `Diagnose`. `advice`: id of the advice.
    """

    result: ClassVar[Any] = Tried
    repeatable: ClassVar[bool] = True
    cell: str
    advice: str


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
    """No client waits: output only goes to the journal until a client follows the cell."""
    aborts: bool = False
    """If this cell fails, the client's queued cells are withdrawn; so is this one if an earlier one fails."""
    source: str = ""
    """Name of the cell's source in the debugger."""
    kernel: str | None = None
    """Id of the requesting kernel, since a notebook may be renamed while its kernel lives."""
    request: str | None = None
    """Id of the front end's execute request."""
    kind: CellKind = "cell"
    failed: str = ""
    """Of a post-mortem, the head's id of the cell that has failed."""


class Follow(Body, frozen=True, tag="follow"):
    """Receive a cell's output, without its first `shown` pieces, and then its end.

    The messages are the same as for the client that ran the cell.
    """

    result: ClassVar[Any] = CellResult
    cell: str
    shown: int = 0


class ListCells(Body, frozen=True, tag="list_cells"):
    """Ask for the world's cells, oldest first; `last` limits the list to the last run of each cell."""

    result: ClassVar[Any] = list[CellRecord]
    repeatable: ClassVar[bool] = True
    last: bool = False


RANKS_HELD_S = 60.0


class AcquireRanks(Body, frozen=True, tag="take_turn"):
    """Queue for exclusive use of ranks by something other than a cell (a view's calls).

    Answered once all earlier cells on these ranks have ended. `name`: of the lock on the ranks. `pid`: the
    process that holds the lock, which is released when that process ends. If the head can't see the process
    (another `system`), the lock expires unless it is renewed within `RANKS_HELD_S` once it is acquired.
    """

    name: str = field(name="turn")
    pid: int
    ranks: tuple[int, ...] | None = None
    system: str = ""


class ReleaseRanks(Body, frozen=True, tag="give_turn"):
    """Release the lock of this name on its ranks."""

    name: str = field(name="turn")


class Comm(Body, frozen=True, tag="comm"):
    """Forward a comm message from a widget's front end to a rank.

    Answered once the widget's callbacks have run. `data` and `metadata` are the message's content and
    metadata as JSON, `parent` is its id, `pid` the rank process that has the widget.
    """

    cell: str
    rank: int
    kind: CommKind
    data: bytes
    buffers: tuple[bytes, ...] = ()
    metadata: bytes = b""
    parent: str = ""
    pid: int = 0


class Complete(Body, frozen=True, tag="complete"):
    """Ask for completions at the cursor, or (`inspect`) for help on the name there; the answer is JSON."""

    result: ClassVar[Any] = bytes
    repeatable: ClassVar[bool] = True
    code: str
    cursor: int
    ranks: tuple[int, ...] | None = None
    inspect: bool = False
    detail: int = 0


class ReadOutput(Body, frozen=True, tag="read_output"):
    """Ask for journaled outputs after a sequence number, oldest first."""

    result: ClassVar[Any] = list[Output]
    repeatable: ClassVar[bool] = True
    after: int = -1
    most: int = 1000
    cell: str | None = None
    """Limit to one cell, by its id or its name."""
