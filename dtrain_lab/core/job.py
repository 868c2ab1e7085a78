"""Jobs: what is asked for, what was submitted, and what doors show of it. Units stand in the names."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from dtrain_lab.core.budget import Budget
from dtrain_lab.core.cluster import Metrics, Node, Phase, Rank, Reason, Summary, World
from dtrain_lab.core.finding import Finding
from dtrain_lab.core.history import Point
from dtrain_lab.core.kinds import JobLauncher, JobState
from dtrain_lab.core.plan import Plan
from dtrain_lab.core.profile import Profile
from dtrain_lab.core.record import Handle
from dtrain_lab.core.room import Room


class JobRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What a person asks to be submitted.

    `notebook`: its path (below the server's root for REST). `time`: of the scheduler, "02:00:00". `after`:
    a job that has to succeed first. `retries`: how often a failed run begins anew, from its checkpoint.
    `warn_s`: so long before the time limit every rank gets SIGUSR2; 0 for never. `mail`: address that Slurm
    writes to. `notify`: a command of the user's that runs when the job ends. `parameters`: for the cell that
    is tagged so. `python`: interpreter, for environments of the kind "current".

    `stage`: files and folders that are copied to each node's own disk before ranks start (`dt.staged`).

    In the place of the profile's: `partition`; `environment`, as "kind:path" ("conda:/opt/envs/torch"), or
    "current" for the notebook's own; `interface`; and `options`, more lines for the scheduler.
    """

    notebook: str
    profile: str = "local"
    ranks: int | None = None
    nodes: int | None = None
    ranks_per_node: int | None = None
    name: str | None = None
    parameters: dict[str, Any] = {}
    time: str | None = None
    launcher: JobLauncher | None = None
    after: str | None = None
    retries: int = 0
    warn_s: int = 60
    mail: str | None = None
    notify: str | None = None
    monitor: bool | None = None
    files: bool = True
    """Pack the small files of the notebook's folder."""
    kernel: str | None = None
    python: str | None = None
    names: tuple[str, ...] | None = None
    """What the running kernel has in its memory."""
    partition: str | None = None
    environment: str | None = None
    interface: str | None = None
    options: tuple[str, ...] = ()
    stage: tuple[str, ...] = ()


class JobSize(Struct, frozen=True):
    """How large a job is."""

    nodes: int
    ranks_per_node: int


class PlannedFile(Struct, frozen=True):
    """A file of the job's folder. `text`: of what a person may want to read before."""

    path: str
    bytes: int
    text: str | None = None


class Choice(Struct, frozen=True):
    """A partition that a job could run in: nodes that are up, GPUs of the largest, and its time limit."""

    name: str
    nodes: int
    gpus: int = 0
    time: str | None = None


class JobPlan(Struct, frozen=True):
    """A job before it runs: also the preview. `changes`: against this notebook's last job, as a diff.

    `cells`: that were converted. `modules`: that it imports and the environment has; None where that can't be
    asked at once. `environment`: where its Python comes from, in words. `room`: what may be written where its
    folder will be. `budget`: what is left to the scheduler's account; only where the scheduler was asked.
    """

    files: tuple[PlannedFile, ...]
    command: str
    findings: tuple[Finding, ...]
    size: JobSize | None
    expected_start_at: float | None = None
    changes: str = ""
    gpu_hours: float | None = None
    partitions: tuple[Choice, ...] = ()
    environment: str = ""
    cells: int = 0
    modules: int | None = None
    room: Room | None = None
    budget: Budget | None = None


class JobMetrics(Metrics, frozen=True):
    """Figures of a job, and their past."""

    history: tuple[Point, ...] = ()


class JobError(Struct, frozen=True):
    """*The* error of a job: the earliest real one. `cell` as `executed.ipynb` shows it, lines from 1."""

    rank: int
    cell: str | None
    cell_id: str | None
    line: int | None
    type: str
    message: str
    traceback: tuple[str, ...] = ()
    time: float = 0.0
    node: str = ""
    signal: int | None = None


class Log(Struct, frozen=True):
    """A line that a rank wrote. `error`: to stderr. `follows`: this rank failed because another had ended."""

    time: float
    rank: int
    text: str
    error: bool = False


class LogPiece(Struct, frozen=True):
    """A piece of a job's log. `offset`: to ask from next; `end`: the job writes no more."""

    lines: tuple[Log, ...]
    offset: str
    end: bool = False
    first_error: JobError | None = None


class Job(Struct, frozen=True):
    """A job with everything a door shows of it."""

    id: str
    name: str
    backend: str
    profile: str
    notebook: str
    size: JobSize
    world: World
    nodes: tuple[Node, ...]
    ranks: tuple[Rank, ...]
    state: JobState
    reason: Reason | None
    summary: Summary
    metrics: Metrics
    scheduler_id: str | None
    exit_code: int | None
    failed_rank: int | None
    error: JobError | None
    directory: str
    parent: str | None
    owner: str
    may: tuple[str, ...]
    progress: tuple[Phase, ...]
    checkpoint_step: int | None
    created_at: float
    started_at: float | None
    ended_at: float | None
    ends_at: float | None = None
    parameters: dict[str, Any] = {}
    attempt: int = 0


class JobRecord(Struct, frozen=True):
    """The truth of a job: `job.json` in its folder. The index has the same, and can be made from it again.

    `handle`: None until the back-end has taken it. `cancelled_at`: somebody asked for its end.
    """

    id: str
    request: JobRequest
    profile: Profile
    plan: Plan
    name: str
    directory: str
    owner: str
    host: str
    created_at: float
    launcher: JobLauncher
    handle: Handle | None = None
    parent: str | None = None
    cancelled_at: float | None = None
    checkpoints: str = ""
    """Folder of its checkpoints; a resumed job goes on in its parent's."""
    problem: tuple[str, str] | None = None
    """Why it was never taken: message and hint."""


class Doing(Struct, frozen=True):
    """The cell that rank 0 runs, `cell.json`: the `index`th of `total`."""

    cell: str
    cell_id: str
    index: int
    total: int
    at: float


class Live(Struct, frozen=True):
    """What the head of a job last knew, in `live.json`."""

    at: float
    ranks: tuple[Rank, ...]
    nodes: tuple[Node, ...]
    metrics: Metrics
    generation: int = 0
    values: dict[str, Any] = {}


class Staging(Struct, frozen=True):
    """How many bytes of the job's data a node has copied, of all: `staging.N.json`."""

    done: int
    total: int


class End(Struct, frozen=True):
    """How a node, or the whole, ended: `exit.N` and `exit`."""

    code: int
    at: float


class Found(Struct, frozen=True):
    """What lies in a job's folder, as far as it is known."""

    started_at: float | None = None
    exit: End | None = None
    node_exits: tuple[End, ...] = ()
    errors: tuple[JobError, ...] = ()
    live: Live | None = None
    checkpoint_step: int | None = None
    doing: Doing | None = None
    attempt: int = 0
    waiting: Reason | None = None
    """Of a queue without a scheduler; or why it never starts."""
    preempted: bool = False
    staging: tuple[Staging, ...] = ()
    """Of each node."""
