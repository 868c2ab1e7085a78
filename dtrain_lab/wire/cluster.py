"""A cluster as REST, `--json` and the panel show it.

Units are in the field names; unknown values are null.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from dtrain_lab.wire.cells import RunningCell, WaitingCell
from dtrain_lab.wire.kinds import CellKind, RankPhase, WorldPhase
from dtrain_lab.wire.loop_failures import InternalFailure
from dtrain_lab.wire.metrics.definitions import (
    CpuUtilization,
    DeviceMemoryBytes,
    DeviceMemoryTotalBytes,
    DeviceUtilization,
    LoopMetrics,
    OwnS,
    ProcessMemoryBytes,
    Step,
    StepsPerS,
)
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.node_use import Node
from dtrain_lab.wire.stacks import Where
from dtrain_lab.wire.summary import Summary


class Alternative(Struct, frozen=True):
    """A request that would start sooner, or at all."""

    text: str
    request: dict[str, Any]


class Reason(Struct, frozen=True):
    """Why a cluster or a job waits, failed or can't start.

    `final`: it can never start. `host`: the host that requires a sign-in.
    """

    code: str
    message: str
    hint: str = ""
    since_s: float | None = None
    expected_start_at: float | None = None
    ahead: int | None = None
    alternatives: tuple[Alternative, ...] = ()
    final: bool = False
    host: str | None = None


class World(Struct, frozen=True):
    """The process group: its number of ranks, and how often it was rebuilt."""

    size: int
    generation: int


class Rank(LoopMetrics, frozen=True):
    """One rank of a cluster or a job, with its latest metrics."""

    rank: int
    node: str
    local_rank: int
    device: str
    pid: int | None
    state: RankPhase
    doing: str | None = None
    where: Where | None = None
    slow: bool = False
    unsure: bool = False
    step: Step = None
    steps_per_s: StepsPerS = None
    own_s: OwnS = None
    comm_bound: str = ""
    cpu_utilization: CpuUtilization = None
    memory_bytes: ProcessMemoryBytes = None
    device_memory_bytes: DeviceMemoryBytes = None
    device_memory_total_bytes: DeviceMemoryTotalBytes = None
    device_utilization: DeviceUtilization = None
    last_seen_s: float | None = None


class Phase(Struct, frozen=True):
    """One phase of a start. `late_nodes`: nodes that have not finished it, once another node has."""

    phase: str
    done: int
    total: int
    elapsed_s: float
    late_nodes: tuple[str, ...] = ()


class Lost(Struct, frozen=True):
    """A rank that ended unexpectedly and has not been replaced.

    `why`: the cause in words; `at`: seconds since 1970; `cell`: name of the cell that it ran, "[7]", and
    `cell_kind` its kind; `line`: the line of that cell where it crashed, if that is known; `last`: the end of
    its output.
    """

    rank: int
    why: str
    at: float
    cell: str | None = None
    notebook: str | None = None
    cell_id: str | None = None
    last: str = ""
    line: int | None = None
    cell_kind: CellKind = "cell"


class WithoutLost(Struct, frozen=True):
    """How a cluster can go on without its lost ranks: numbered from 0 without gaps, and with whole nodes.

    `size`: its new number of ranks. `replaced`: those of `lost` whose numbers stay in use; they get new
    processes with the variables of the first ranks of `ending`, living ranks that end.
    """

    size: int
    lost: tuple[int, ...]
    replaced: tuple[int, ...]
    ending: tuple[int, ...]


class Cluster(Struct, frozen=True):
    """A cluster with everything that a client shows of it. Times are in seconds since 1970.

    `ends_at`: when it ends if no client does anything; `limit_at`: when the scheduler ends it.
    `has_run`: a cell has ended on its ranks.
    `usual_start_s`: while it starts, how long a start of its profile usually takes; None if unknown.
    `summary_if_ignored`: the summary for a user who ignores the verdict that `summary` reports; None if it
    reports none.
    """

    id: str
    name: str
    profile: str
    state: WorldPhase
    reason: Reason | None
    summary: Summary
    world: World
    nodes: tuple[Node, ...]
    ranks: tuple[Rank, ...]
    metrics: Metrics
    progress: tuple[Phase, ...]
    notebooks: tuple[str, ...]
    owner: str
    may: tuple[str, ...]
    created_at: float
    ends_at: float | None = None
    idle_since: float | None = None
    running: tuple[RunningCell, ...] = ()
    limit_at: float | None = None
    troubles: tuple[InternalFailure, ...] = ()
    """Failures of its head's and agents' background work through bugs of ours; the cluster goes on."""
    lost: tuple[Lost, ...] = ()
    usual_start_s: float | None = None
    has_run: bool = False
    summary_if_ignored: Summary | None = None
    without_lost: WithoutLost | None = None
    """None if no rank is lost, or no whole node would be left."""
    waiting: tuple[WaitingCell, ...] = ()
    """Cells that wait for ranks, in the order in which they were requested."""
    former_notebooks: tuple[str, ...] = ()
    """Notebooks that have chosen another cluster since; their variables are still here."""
