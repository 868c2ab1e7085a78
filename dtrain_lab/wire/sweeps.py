"""Sweeps: the request, the record in `sweep.json`, its trials, and the sweep as clients show it.

Units are in the field names.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from dtrain_lab.wire.cluster import Reason
from dtrain_lab.wire.jobs.job import JobPlan, JobRequest, JobSize, StoppedBy
from dtrain_lab.wire.summary import Summary

Direction = Literal["minimize", "maximize"]
Sampler = Literal["tpe", "random", "grid"]
Pruner = Literal["asha"]
TrialState = Literal["waiting", "running", "pruned", "succeeded", "failed", "stopped", "resumed"]
SweepState = Literal["running", "stopping", "stopped", "succeeded", "failed"]
Wish = Literal["run", "stop"]

NODES, RANKS_PER_NODE = 1, 1
"""Default size of a trial; not the profile's, which is that of a job."""
Nodes = Annotated[int | UnsetType | None, Meta(extra_json_schema={"default": NODES})]
RanksPerNode = Annotated[int | UnsetType | None, Meta(extra_json_schema={"default": RANKS_PER_NODE})]
TRIAL_ENDED: frozenset[str] = frozenset({"pruned", "succeeded", "failed", "stopped"})
SWEEP_ENDED: frozenset[str] = frozenset({"stopped", "succeeded", "failed"})


class SweepRequest(JobRequest, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A sweep that a user asks for; the fields of a job are those of each trial.

    `space`: what varies, name → a list of values, or "uniform(low, high)", "loguniform(low, high)",
    "randint(low, high)". `parameters`: values that are the same in all trials. `objective`: a name that the
    notebook passes to `dt.log`. `trials`: how many at most; by default the whole grid, else 16. `parallel`:
    how many run at once; by default as many as there are GPUs, or cores without GPUs. `name`: of the sweep.
    `nodes`, `ranks_per_node`: of each trial; null for the profile's.
    """

    space: dict[str, Any]
    objective: str
    # unset differs from 1: with `ranks`, an explicit number must not be dropped
    nodes: Nodes = UNSET  # type: ignore[assignment]
    ranks_per_node: RanksPerNode = UNSET  # type: ignore[assignment]
    direction: Direction = "minimize"
    sampler: Sampler = "tpe"
    pruner: Pruner | None = None
    trials: int | None = None
    parallel: int | None = None


class SweepPlan(JobPlan, frozen=True, kw_only=True):
    """A sweep before it begins: the plan of a trial; what keeps the sweep from beginning is a finding, too.

    `total`: number of trials. `parallel`: how many of them run at once; None if it can't begin.
    """

    total: int = 0
    parallel: int | None = None


class ObjectiveValue(Struct, frozen=True):
    """A value of the objective, as of a step."""

    step: int
    value: float


class Rung(Struct, frozen=True):
    """The objective where a bad trial may be stopped. `value`: null if it is NaN or infinite."""

    step: int
    value: float | None


class TrialRun(Struct, frozen=True):
    """A trial's job from its start to its end, in seconds since 1970. `ended_at`: null while it runs."""

    job: str
    started_at: float
    ended_at: float | None = None


class Trial(Struct, frozen=True):
    """A trial of a sweep: one job, and those that continue it.

    `parameters`: those that vary. `value`: the objective's last finite value, as of `step`. `job`: the latest
    of `jobs`. `started_at`: start of the first job; `ended_at`: end of the last one. `ran_s`: how long its
    jobs have run together, without the time between them; null before the first has started. `reason`: why
    it waits, was stopped early or failed. `resumes`: how often it was continued. `resumed_step`: step of the
    checkpoint from which it was continued last; null where it had none, and began anew. `curve`: at most 24
    values, for a picture.
    """

    number: int
    state: TrialState
    parameters: dict[str, Any]
    value: float | None = None
    step: int | None = None
    job: str | None = None
    started_at: float | None = None
    ended_at: float | None = None
    ran_s: float | None = None
    reason: Summary | None = None
    resumes: int = 0
    resumed_step: int | None = None
    checkpoint_step: int | None = None
    begins_again: bool = False
    """As in `Job`."""
    curve: tuple[ObjectiveValue, ...] = ()
    jobs: tuple[str, ...] = ()


class TrialRecord(Trial, frozen=True):
    """A trial as the driver keeps it. `ran_s` is not kept: it follows from `runs`.

    `rungs`: the values that stop bad trials early. `handed`: its job is handed over, or about to be, and has
    not ended. `seen`: its job is known to exist. `ending`: why its job is being ended. `runs`: its jobs that
    have started; an earlier version kept none.
    """

    runs: tuple[TrialRun, ...] = ()
    rungs: tuple[Rung, ...] = ()
    handed: bool = False
    seen: bool = False
    ending: StoppedBy | None = None


class SweepRecord(Struct, frozen=True):
    """The source of truth of a sweep: `sweep.json` in its folder. Only its driver writes it.

    `file`: copy of the notebook that all trials run. `total`: how many trials there will be. `first_rung`:
    step of the first rung, known once a trial has succeeded. `heard`: number of the last client's request
    that was carried out. `retry_at`: when to try again what a host has refused, in seconds since 1970.
    `python`: interpreter of the driver. `host`, `system`: where it is driven.
    """

    id: str
    name: str
    request: SweepRequest
    file: str
    size: JobSize
    total: int
    parallel: int
    seed: int
    owner: str
    host: str
    system: str
    python: str
    created_at: float
    state: SweepState = "running"
    reason: Reason | None = None
    trials: tuple[TrialRecord, ...] = ()
    first_rung: int | None = None
    heard: int = 0
    retry_at: float | None = None
    ended_at: float | None = None
    source: str = ""
    """Absolute path of the notebook that was submitted."""


class UnreadableSweep(Struct, frozen=True):
    """A sweep whose record can't be read: another version wrote it, or it is damaged.

    `name`: empty if the record has none. `message`, `hint`: why, and what to do.
    """

    id: str
    name: str
    directory: str
    message: str
    hint: str


class Asked(Struct, frozen=True):
    """A client's request for a sweep, in `asked.json`; its `number` grows by one."""

    number: int
    wish: Wish


class Importance(Struct, frozen=True):
    """Importance of each parameter for the objective.

    `shares`: parameter → its share, 0 to 1, the largest first; empty if unknown. `missing`: why.
    """

    shares: dict[str, float]
    missing: Summary | None = None


class Sweep(Struct, frozen=True):
    """A sweep with everything that a client shows of it.

    `space`: lists, and the text of ranges. `best`: the trial that succeeded with the best objective.
    `importance`: null in lists of sweeps. `ran_s`: for how long at least one of its trials has run; null
    before the first has started.
    """

    id: str
    name: str
    notebook: str
    profile: str
    size: JobSize
    state: SweepState
    reason: Reason | None
    summary: Summary
    objective: str
    direction: Direction
    sampler: Sampler
    pruner: Pruner | None
    space: dict[str, Any]
    parameters: dict[str, Any]
    total: int
    parallel: int
    trials: tuple[Trial, ...]
    best: Trial | None
    importance: Importance | None
    directory: str
    owner: str
    may: tuple[str, ...]
    created_at: float
    ended_at: float | None
    ran_s: float | None = None
    source: str = ""
    """Absolute path of its notebook, where it was submitted."""
    notebook_path: str | None = None
    """As in `Job`."""
