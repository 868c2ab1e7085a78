"""Contents of a job's folder, while and after its ranks run, as values; without the record."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from dtrain_lab.wire.cluster import Rank, Reason
from dtrain_lab.wire.jobs.job import JobError
from dtrain_lab.wire.loop_failures import InternalFailure
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.node_use import Node


class Doing(Struct, frozen=True):
    """The cell that rank 0 runs, number `index` of `total`; stored in `cell.json`."""

    cell: str
    cell_id: str
    index: int
    total: int
    at: float


class Live(Struct, frozen=True):
    """Latest state that the head of a job has written to `live.json`."""

    at: float
    ranks: tuple[Rank, ...]
    nodes: tuple[Node, ...]
    metrics: Metrics
    generation: int = 0
    values: dict[str, Any] = {}
    troubles: tuple[InternalFailure, ...] = ()
    """Failures of its head's background work through bugs of ours; the head goes on."""


class Staging(Struct, frozen=True):
    """Progress of a node in copying the job's data, in bytes; stored in `staging.N.json`."""

    done: int
    total: int


class End(Struct, frozen=True):
    """Exit code of a node (`exit.N`) or of the whole job (`exit`)."""

    code: int
    at: float


class EndCommandResult(Struct, frozen=True):
    """Result of the user's command for the job's end (`JobRequest.notify`); `output`: its last output."""

    code: int
    output: str = ""


class HeadEnd(Struct, frozen=True):
    """A job's head that was killed, or has crashed: what it left.

    `logged`: whether `head.log` says something. `values`, `step`: the latest values that ranks have passed to
    `dt.log`, which nothing but their file has since; None if they have logged nothing.
    """

    logged: bool
    values: dict[str, float | str] = {}
    step: int | None = None


class FolderState(Struct, frozen=True):
    """State of a job as read from its folder, as far as it is known."""

    started_at: float | None = None
    exit: End | None = None
    node_exits: tuple[End, ...] = ()
    errors: tuple[JobError, ...] = ()
    live: Live | None = None
    checkpoint_step: int | None = None
    doing: Doing | None = None
    attempt: int = 0
    waiting: Reason | None = None
    """Why it waits in a queue without a scheduler, or why it can never start."""
    preempted: bool = False
    staging: tuple[Staging, ...] = ()
    """Progress of each node."""
    end_command: EndCommandResult | None = None
    """None if the user has no command for the job's end, and until it has ended."""
    head_end: HeadEnd | None = None
    """None unless its head is known to have ended before the job."""
