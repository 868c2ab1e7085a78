"""Jobs: the request, the plan, the record in `job.json`, and the job as clients show it.

Units are in the field names.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from dtrain_lab.wire.cluster import Phase, Rank, Reason, World
from dtrain_lab.wire.jobs.finding import Finding
from dtrain_lab.wire.jobs.framework import FrameworkPlan
from dtrain_lab.wire.jobs.quota import Budget, FreeSpace
from dtrain_lab.wire.kinds import JobLauncher, JobState
from dtrain_lab.wire.metrics.history import Point
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.node_use import Node
from dtrain_lab.wire.plan import Plan
from dtrain_lab.wire.processes.head_record import Handle
from dtrain_lab.wire.profile import Profile
from dtrain_lab.wire.summary import Summary

StoppedBy = Literal["prune", "stop"]
"""Why a sweep ends a trial: the trial falls behind, or the sweep stops."""


class JobRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A job that a user asks for.

    `notebook`: its path (below the server's root for REST). `time`: the scheduler's limit, "02:00:00".
    `after`: a job that has to succeed first. `retries`: how often a failed run is restarted, with
    its checkpoints. `warn_s`: seconds before the time limit at which every rank gets SIGUSR2; 0 for never.
    `mail`: address that Slurm notifies. `notify`: a command of the user that runs when the job ends.
    `parameters`: values for the cell tagged `parameters`. `python`: interpreter, for environments of the kind
    "current". `framework`: what the notebook trains with ("torch", "tensorflow", "mindspore"); by default the
    profile's.

    `stage`: files and folders that are copied to each node's local disk before ranks start (`dt.staged`).

    These override the profile: `partition`; `environment`, as "kind:path" ("conda:/opt/envs/torch") or
    "current" for the notebook's own; `interface`; and `options`, additional options for the scheduler.
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
    framework: str | None = None
    after: str | None = None
    retries: int = 0
    warn_s: int = 60
    mail: str | None = None
    notify: str | None = None
    monitor: bool | None = None
    files: bool = True
    """Whether to pack the small files of the notebook's folder."""
    kernel: str | None = None
    python: str | None = None
    names: tuple[str, ...] | None = None
    """Names that the running kernel defines."""
    partition: str | None = None
    environment: str | None = None
    interface: str | None = None
    options: tuple[str, ...] = ()
    stage: tuple[str, ...] = ()
    sweep: str | None = None
    """Id of the sweep that it is a trial of."""
    at_once: int = 1
    """How many such jobs run at once, as trials of a sweep; without a scheduler they share the cores."""


class JobSubmit(JobRequest, frozen=True, forbid_unknown_fields=True):
    """A submission. `plan`: id of the plan that was previewed, which is submitted unchanged."""

    plan: str | None = None


class JobSize(Struct, frozen=True):
    """Size of a job."""

    nodes: int
    ranks_per_node: int


class PlannedFile(Struct, frozen=True):
    """A file of the job's folder. `text`: its content, for files worth previewing."""

    path: str
    bytes: int
    text: str | None = None


class Choice(Struct, frozen=True):
    """A partition that a job could run in.

    `nodes`: number of nodes that are up; `gpus`: of the largest node; `time`: the partition's limit.
    """

    name: str
    nodes: int
    gpus: int = 0
    time: str | None = None


class JobPlan(Struct, frozen=True):
    """A job before it runs; also the preview.

    `id`: of the plan, by which it is submitted unchanged, and later of the job. `changes`: against this
    notebook's last job, as a diff. `cells`: number of cells that convert without a problem. `modules`: number
    of imported modules that the environment has; None if that can't be determined at once. `environment`:
    where its Python comes from, in words. `room`: free space and quota where its folder will be. `budget`:
    what is left in the scheduler's account; only if the scheduler was asked. `submit`: the equivalent
    terminal command.
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
    room: FreeSpace | None = None
    budget: Budget | None = None
    submit: str = ""
    id: str = ""


class Logged(Struct, frozen=True):
    """A call of `dt.log`, in seconds since 1970; values that are not finite are texts, as "nan"."""

    at: float
    step: int
    values: dict[str, float | str]


class JobMetrics(Metrics, frozen=True):
    """Metrics of a job, with their history.

    `logged`: what the job has passed to `dt.log`, in order of time; of more than about 1,000 calls, those
    with the smallest and the largest values of each period, and the last one.
    """

    history: tuple[Point, ...] = ()
    logged: tuple[Logged, ...] = ()


class JobError(Struct, frozen=True):
    """The error that failed a job: the earliest one that is not the consequence of another.

    `cell` is named as in `executed.ipynb`; lines count from 1.
    """

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


class EndCommand(Struct, frozen=True):
    """The user's command that runs once a job has ended (`notify` of the request).

    `exit_code`: None while it runs, or may run, as its back-end can't be asked. `output`: the last of its
    output, if it has failed.
    """

    command: str
    exit_code: int | None = None
    output: str = ""


class Job(Struct, frozen=True):
    """A job with everything that a client shows of it."""

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
    sweep: str | None = None
    """Id of the sweep that it is a trial of."""
    begins_again: bool = False
    """Whether a job that resumes it starts from the beginning: its notebook never loads a checkpoint."""
    resumed_step: int | None = None
    """Step of the checkpoint from which it continues its `parent`; null without one, and where not known."""
    source: str = ""
    """Absolute path of its notebook, where it was submitted; `notebook` is as its client wrote it."""
    notebook_path: str | None = None
    """Path of its notebook below the root of the server that answers; null outside it, and in a terminal."""
    fails_again: bool = False
    """Whether an exception of its own code ended it: if it is resumed, the same code would fail again."""
    end_command: EndCommand | None = None
    """The user's command for its end; null without one, before the job has ended, and if it was not run."""


class JobRecord(Struct, frozen=True):
    """The source of truth of a job: `job.json` in its folder, from which the index can be rebuilt.

    `handle`: None until the back-end has accepted the job. `cancelled_at`: when a client cancelled it, in
    seconds since 1970.
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
    cancelled_for: StoppedBy | None = None
    """Why its sweep cancelled it; None if a user did."""
    checkpoints: str = ""
    """Folder of its checkpoints; a resumed job uses its parent's."""
    problem: tuple[str, str] | None = None
    """Why the back-end did not accept it: message and hint."""
    system: str = ""
    """Host boot and PID namespace that it was submitted from, as in `Handle`."""
    framework: FrameworkPlan | None = None
    """How its ranks find each other; None if torch does that."""
    source: str = ""
    """Absolute path of the notebook that was submitted, of a trial that of its sweep; the request has it as
    its client wrote it."""
    begins_again: bool = False
    """Whether its notebook saves checkpoints and never loads one, as far as the check can tell."""
    resumed_step: int | None = None
    """As in `Job`."""
    waits_for: str = ""
    """Name of the job that has to succeed first, with its id if a newer one has that name; else empty."""

    @property
    def interactive(self) -> bool:
        """Whether a person waits for it: a job is kept in the index, and may start at any time."""
        return False

    @property
    def after(self) -> str | None:
        """What has to succeed before it starts."""
        return self.request.after

    @property
    def mail(self) -> str | None:
        """Address that a scheduler notifies."""
        return self.request.mail

    @property
    def warn_s(self) -> float:
        """Seconds before its time limit at which the scheduler signals it."""
        return self.request.warn_s
