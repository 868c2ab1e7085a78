"""A cluster as REST, `--json` and the panel see it. Units stand in the names; null where not known."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from dtrain_lab.core.kinds import CellState, OutputKind, RankPhase, VerdictKind, WorldPhase


class Summary(Struct, frozen=True):
    """The one sentence: `text` in English, `code` and `values` for a translation."""

    code: str
    values: dict[str, Any]
    text: str


class Alternative(Struct, frozen=True):
    """A request that would start sooner, or at all."""

    text: str
    request: dict[str, Any]


class Reason(Struct, frozen=True):
    """Why a world waits, failed or can't start; `final`: it never can. `host`: one that wants a sign-in."""

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
    """The process group: how many ranks, and how often it was rebuilt."""

    size: int
    generation: int


class HostUse(Struct, frozen=True, omit_defaults=True):
    """What a node does as a whole, our ranks included. Shares 0 to 1, bytes.

    `cores`: that it has. `sent_bytes_per_s`, `received_bytes_per_s`: by its network cards; what ranks of one
    node tell each other is not in them. `throttled`: why its processors are slowed down; empty where they are
    not, or nobody knows.
    """

    cores: int = 1
    cpu_utilization: float | None = None
    sent_bytes_per_s: float | None = None
    received_bytes_per_s: float | None = None
    throttled: str = ""


class Node(Struct, frozen=True):
    """A machine of the world, and what it does as a whole: see `HostUse`."""

    name: str
    address: str
    state: str
    cpu_utilization: float | None = None
    sent_bytes_per_s: float | None = None
    received_bytes_per_s: float | None = None
    throttled: str = ""


def with_use(node: Node, use: HostUse | None) -> Node:
    """A node with what it does."""
    if use is None:
        return node
    return Node(
        node.name,
        node.address,
        node.state,
        use.cpu_utilization,
        use.sent_bytes_per_s,
        use.received_bytes_per_s,
        use.throttled,
    )


class Where(Struct, frozen=True):
    """A place in the user's code. Lines count from 1, the magic's line included."""

    notebook: str | None = None
    cell: str | None = None
    file: str | None = None
    function: str | None = None
    line: int | None = None


class Rank(Struct, frozen=True):
    """One process of the world, with its latest figures."""

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
    step: int | None = None
    steps_per_s: float | None = None
    samples_per_s: float | None = None
    tokens_per_s: float | None = None
    step_s: float | None = None
    data_s: float | None = None
    compute_s: float | None = None
    optimizer_s: float | None = None
    transfer_s: float | None = None
    wait_s: float | None = None
    comm_overhead: float | None = None
    comm_overhead_error: float | None = None
    comm_bound: str = ""
    cpu_utilization: float | None = None
    memory_bytes: int | None = None
    device_memory_bytes: int | None = None
    device_memory_total_bytes: int | None = None
    device_utilization: float | None = None
    last_seen_s: float | None = None


class Phase(Struct, frozen=True):
    """One step of a start."""

    phase: str
    done: int
    total: int
    elapsed_s: float
    late_nodes: tuple[str, ...] = ()


class Verdict(Struct, frozen=True):
    """Something is wrong, in words: who is at fault, who waits, where."""

    id: str
    kind: VerdictKind
    code: str
    values: dict[str, Any]
    text: str
    ranks: tuple[int, ...] = ()
    peers: tuple[int, ...] = ()
    operation: str | None = None
    sequence: int | None = None
    bytes: int | None = None
    where: Where | None = None
    since_s: float | None = None
    hint: str = ""
    actions: tuple[str, ...] = ()


class Advice(Struct, frozen=True):
    """A change that would make training faster, with its price.

    `change` and `cost` in English; `id` and `values` for a translation.
    """

    id: str
    change: str
    gain: float
    gain_error: float
    cost: str
    diff: str
    values: dict[str, Any] = {}


class Epoch(Struct, frozen=True):
    """How far training is in its data. `total`: batches of the epoch; None where the loader has no length."""

    number: int
    done: int
    total: int | None


class Metrics(Struct, frozen=True):
    """Figures of the whole world.

    A step is data + compute (forward, backward) + transfer and wait (communication that computation did not
    hide) + optimizer + the rest; of the median rank. `comm_bound`: "lower" where `comm_overhead` is one.
    """

    samples_per_s: float | None = None
    tokens_per_s: float | None = None
    unsure: bool = False
    epoch: Epoch | None = None
    step_s: float | None = None
    data_s: float | None = None
    compute_s: float | None = None
    optimizer_s: float | None = None
    transfer_s: float | None = None
    wait_s: float | None = None
    comm_overhead: float | None = None
    comm_overhead_error: float | None = None
    comm_bound: str = ""
    slowest_rank: int | None = None
    skew_s: float | None = None
    values: dict[str, Any] = {}
    verdicts: tuple[Verdict, ...] = ()
    advice: tuple[Advice, ...] = ()


class Cluster(Struct, frozen=True):
    """A cluster with everything a door shows of it.

    `ends_at`: when it ends if nobody does anything; `limit_at`: when the scheduler ends it.
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


class RunningCell(Struct, frozen=True):
    """A cell that runs now."""

    cell: str
    notebook: str | None
    ranks: tuple[int, ...]
    started_at: float
    cell_id: str | None = None


class Output(Struct, frozen=True):
    """One piece of what ranks printed or displayed."""

    seq: int
    time: float
    cell: str
    ranks: tuple[int, ...]
    kind: OutputKind
    text: str | None = None
    data: dict[str, Any] | None = None


class Stack(Struct, frozen=True):
    """What one rank's threads do."""

    rank: int
    text: str | None
    error: str | None = None


class Frame(Struct, frozen=True):
    """One frame of a rank's traceback, with the source line where it is known."""

    file: str
    line: int
    function: str
    source: str = ""
    cell: str | None = None
    """Name of the cell, "[7]", where the frame is in one."""


class Failure(Struct, frozen=True):
    """How a cell ended badly on one rank. `kind`: raised, interrupted, lost or aborted."""

    rank: int
    kind: str
    type: str
    message: str
    frames: tuple[Frame, ...] = ()
    operation: str | None = None


class CellResult(Struct, frozen=True):
    """How a cell ended on its ranks. `traceback`: what a notebook shows of a failure, line by line."""

    cell: str
    ranks: tuple[int, ...]
    failures: tuple[Failure, ...] = ()
    sentence: str = ""
    elapsed_s: float = 0.0
    timed_out: bool = False
    traceback: tuple[str, ...] = ()


class CellRecord(Struct, frozen=True):
    """A cell that a world knows of: it waits for its turn, runs, or has ended.

    `cell` is its name, `[7]`; `id` the world's own; `cell_id` the notebook's. `detached`: nobody waits for
    it (`--no-wait`). Its output begins at `first_seq` in the journal.
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
