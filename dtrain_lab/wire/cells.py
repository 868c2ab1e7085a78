"""Cells of a cluster: queued, running or ended, with their output."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from dtrain_lab.wire.kinds import CellKind, CellState, OutputKind
from dtrain_lab.wire.stacks import Frame
from dtrain_lab.wire.summary import Summary


class RunningCell(Struct, frozen=True):
    """A cell that runs now. `detached`: no client waits for it (`--no-wait`).

    `cell`, `notebook` and `cell_id` of a post-mortem are those of the cell that has failed, if that is known.
    """

    cell: str
    notebook: str | None
    ranks: tuple[int, ...]
    started_at: float
    cell_id: str | None = None
    detached: bool = False
    kind: CellKind = "cell"


class WaitingCell(Struct, frozen=True):
    """A cell that waits for its ranks, which run other cells."""

    cell: str
    notebook: str | None
    cell_id: str | None = None
    kind: CellKind = "cell"


class Output(Struct, frozen=True):
    """One piece of output that ranks printed or displayed."""

    seq: int
    time: float
    cell: str
    ranks: tuple[int, ...]
    kind: OutputKind
    text: str | None = None
    data: dict[str, Any] | None = None


class Failure(Struct, frozen=True):
    """How a cell failed on one rank. `kind`: raised, interrupted, lost, aborted, or stopped.

    Those of a cluster that somebody stops are stopped. `detail`: lines below the traceback: the error's
    cause, its notes, or a syntax error's place.
    """

    rank: int
    kind: str
    type: str
    message: str
    frames: tuple[Frame, ...] = ()
    operation: str | None = None
    detail: tuple[str, ...] = ()


class CellResult(Struct, frozen=True):
    """How a cell ended on its ranks. `traceback`: the lines that a notebook shows for a failure.

    `interrupted`: the cell ended by a client's interrupt and by nothing else. `plain`: and its
    sentence says only that, neither a cause nor whose variables are lost. `said`: the sentence in parts,
    for translation.
    """

    cell: str
    ranks: tuple[int, ...]
    failures: tuple[Failure, ...] = ()
    sentence: str = ""
    elapsed_s: float = 0.0
    timed_out: bool = False
    traceback: tuple[str, ...] = ()
    interrupted: bool = False
    plain: bool = False
    said: tuple[Summary, ...] = ()


class WaitsFor(Struct, frozen=True):
    """What holds the ranks that a cell waits for: another cell, or a program's call if `cell` is None."""

    cell: str | None = None
    notebook: str | None = None
    kind: CellKind = "cell"


class CellRecord(Struct, frozen=True):
    """A cell of a cluster: queued, running or ended.

    `cell` is its name, `[7]`; `id` is the cluster's id, `cell_id` the notebook's. `detached`: no client waits
    for it (`--no-wait`). Its output begins at `first_seq` in the journal. `kernel` is the id of the
    requesting kernel, which survives a rename of the notebook; `request` is the id of its execute request.
    `started_at` is when the cell was sent to the ranks, `ended_at` when the last rank ended it.
    `failures`: of a cell that runs, how it has failed on some of its ranks so far. `replaced`: ranks that
    have had a new process since the cell began, which knows nothing of it.
    """

    id: str
    cell: str
    ranks: tuple[int, ...]
    state: CellState
    first_seq: int
    notebook: str | None = None
    cell_id: str | None = None
    detached: bool = False
    started_at: float | None = None
    result: CellResult | None = None
    ended_at: float | None = None
    waits_for: tuple[WaitsFor, ...] = ()
    kernel: str | None = None
    request: str | None = None
    failures: tuple[Failure, ...] = ()
    replaced: tuple[int, ...] = ()
    kind: CellKind = "cell"
