"""Operations of the REST interface: methods of paths, with the types of requests and answers."""

from __future__ import annotations

from typing import Any

import msgspec

from dtrain_lab.placement.slots.slots import Slots
from dtrain_lab.services.metrics_export import TYPES
from dtrain_lab.services.profiles.files import Listed
from dtrain_lab.services.quickstart import Quickstart
from dtrain_lab.wire.cells import CellRecord, Output
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.jobs.job import Job, JobMetrics, JobPlan, JobRequest, JobSubmit
from dtrain_lab.wire.jobs.log import LogMatches, LogPiece
from dtrain_lab.wire.metrics.diagnosis import Diagnosis, Tried
from dtrain_lab.wire.metrics.history import Point
from dtrain_lab.wire.metrics.verdicts import Advice
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.node_check import ProfileCheck
from dtrain_lab.wire.plan import Request
from dtrain_lab.wire.site import (
    AdviceToTry,
    CheckedProfile,
    KernelUse,
    LiveFrame,
    Measurement,
    ProfileFile,
    ProfileText,
    RankSet,
    SignedIn,
    SignIn,
    Site,
    Size,
)
from dtrain_lab.wire.stacks import Stack
from dtrain_lab.wire.sweeps import Sweep, SweepPlan, SweepRequest, Trial, UnreadableSweep


class Stopping(msgspec.Struct, frozen=True):
    """A cluster that has been asked to stop."""

    id: str
    state: str


class Operation(msgspec.Struct, frozen=True):
    """A method of a path. `answer`: type and HTTP status of success; `files`: other content types of it.

    `begun`: type of the answer 202, where the work takes longer than a request may.
    """

    method: str
    path: str
    summary: str
    answer: Any
    code: int = 200
    body: Any = None
    query: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    begun: Any = None


FORMATS = tuple(kind.partition(";")[0] for name, kind in TYPES.items() if name != "json")
NUMBERS = ("after", "most", "since", "last")
OPERATIONS = (
    Operation("get", "/profiles", "All profiles; a bad file comes with its error.", list[Listed]),
    Operation("get", "/profiles/{identity}", "Text of a profile's file.", ProfileFile),
    Operation("put", "/profiles/{identity}", "Write a profile's file.", list[Listed], body=ProfileText),
    Operation("delete", "/profiles/{identity}", "Delete a profile's file.", list[Listed]),
    Operation(
        "post",
        "/profiles/{identity}/check",
        "Ask every node of a profile; 202 if that takes long.",
        ProfileCheck,
        begun=CheckedProfile,
    ),
    Operation(
        "get",
        "/profiles/{identity}/check",
        "The check that was begun last; with `wait=1`, answers at its end.",
        CheckedProfile,
        query=("wait",),
    ),
    Operation(
        "get",
        "/quickstart",
        "The quickstart notebook, with the notebooks and pages that it leads to.",
        Quickstart,
    ),
    Operation("get", "/site", "What this machine has, and what this user may do.", Site),
    Operation("get", "/clusters", "All clusters, oldest first.", list[Cluster]),
    Operation("post", "/clusters", "Start a cluster.", Cluster, 202, Request),
    Operation("get", "/clusters/{identity}", "One cluster, by id or name.", Cluster),
    Operation("delete", "/clusters/{identity}", "Stop a cluster.", Stopping, 202),
    Operation(
        "get",
        "/clusters/{identity}/output",
        "Output after `after`, oldest first.",
        list[Output],
        query=("after", "most", "cell"),
    ),
    Operation(
        "get",
        "/clusters/{identity}/cells",
        "Cells that the cluster knows, oldest first; `last=1`: only the last run of each cell.",
        list[CellRecord],
        query=("last",),
    ),
    Operation("get", "/clusters/{identity}/metrics", "Metrics of the cluster.", Metrics),
    Operation(
        "get",
        "/clusters/{identity}/history",
        "Metric history since a point, in a `format`; with `idle=1` also between trainings.",
        list[Point],
        query=("since", "format", "idle"),
        files=FORMATS,
    ),
    Operation(
        "get", "/clusters/{identity}/stacks", "What all threads are doing.", list[Stack], query=("ranks",)
    ),
    Operation("get", "/clusters/{identity}/advise", "What would make training faster.", list[Advice]),
    Operation(
        "post",
        "/clusters/{identity}/advise",
        "Measure what advice gains; 202 if that takes long.",
        Tried,
        body=AdviceToTry,
        begun=Measurement,
    ),
    Operation(
        "post",
        "/clusters/{identity}/diagnose",
        "What takes a step's time; 202 if measuring takes long.",
        Diagnosis,
        begun=Measurement,
    ),
    Operation(
        "get",
        "/clusters/{identity}/measurements",
        "Diagnosis and trials of advice that were begun last; with `wait=1`, an end is waited for.",
        list[Measurement],
        query=("wait",),
    ),
    Operation(
        "post", "/clusters/{identity}/interrupt", "Interrupt; variables are kept.", Cluster, 200, RankSet
    ),
    Operation("post", "/clusters/{identity}/restart", "New processes for ranks.", Cluster, 202, RankSet),
    Operation(
        "post", "/clusters/{identity}/leave-out", "Continue without lost ranks.", Cluster, 202, RankSet
    ),
    Operation("post", "/clusters/{identity}/resize", "Another number of ranks.", Cluster, 202, Size),
    Operation("get", "/kernels/{identity}", "A kernel's notebook, and the cluster that it uses.", KernelUse),
    Operation("post", "/kernels/{identity}", "The same; its notebook's present path is recorded.", KernelUse),
    Operation("get", "/jobs", "All jobs, newest first.", list[Job]),
    Operation("post", "/jobs", "Submit a notebook, or a plan of it.", Job, 202, JobSubmit),
    Operation(
        "post",
        "/jobs/plan",
        "The plan of a job, without submitting one.",
        JobPlan,
        200,
        JobRequest,
        ("ask",),
    ),
    Operation("get", "/jobs/{identity}", "One job, by id or name.", Job),
    Operation(
        "delete", "/jobs/{identity}", "Remove a job, with its folder and checkpoints.", Job, query=("force",)
    ),
    Operation(
        "get",
        "/jobs/{identity}/logs",
        "A piece of a job's log; with `wait=1`, answers at the next line.",
        LogPiece,
        query=("offset", "ranks", "first_error", "search", "wait"),
    ),
    Operation(
        "get",
        "/jobs/{identity}/logs/matches",
        "The number of a log's lines that contain `search`, before and after an `offset`.",
        LogMatches,
        query=("offset", "ranks", "search"),
    ),
    Operation("get", "/jobs/{identity}/metrics", "Metrics and their history.", JobMetrics),
    Operation(
        "get",
        "/jobs/{identity}/history",
        "Metric history, in a `format`.",
        list[Point],
        query=("format",),
        files=FORMATS,
    ),
    Operation("get", "/jobs/{identity}/stacks", "What all threads are doing.", list[Stack], query=("ranks",)),
    Operation("get", "/jobs/{identity}/notebook", "The executed notebook.", dict[str, Any]),
    Operation("get", "/jobs/{identity}/request", "The request that submitted a job.", JobRequest),
    Operation("post", "/jobs/{identity}/cancel", "End a job, on all its nodes.", Job, 202),
    Operation(
        "post", "/jobs/{identity}/resume", "A new job, from a job's checkpoint.", Job, 202, query=("force",)
    ),
    Operation(
        "get",
        "/sweeps",
        "Sweeps, newest first. `active`: only those that have not ended.",
        list[Sweep],
        query=("active",),
    ),
    Operation("post", "/sweeps", "Vary a notebook's parameters over jobs.", Sweep, 202, SweepRequest),
    Operation(
        "post",
        "/sweeps/plan",
        "The plan of a sweep, without starting one.",
        SweepPlan,
        200,
        SweepRequest,
        ("ask",),
    ),
    Operation("get", "/sweeps/unreadable", "Sweeps that can't be read, and why.", list[UnreadableSweep]),
    Operation("get", "/sweeps/{identity}", "One sweep, by id or name.", Sweep),
    Operation(
        "delete",
        "/sweeps/{identity}",
        "Remove a sweep, and its trials' jobs with their folders and checkpoints.",
        Sweep,
        query=("force",),
    ),
    Operation("get", "/sweeps/{identity}/trials", "A sweep's trials, in order.", list[Trial]),
    Operation("post", "/sweeps/{identity}/stop", "End a sweep's trials; checkpoints are kept.", Sweep, 202),
    Operation("post", "/sweeps/{identity}/resume", "Resume a sweep from its checkpoints.", Sweep, 202),
    Operation("get", "/slots", "Who holds the slots of a profile's machines.", Slots, query=("profile",)),
    Operation(
        "delete",
        "/slots/{identity}",
        "End one of your own GPU processes that belongs to no cluster and no job.",
        Slots,
        query=("profile",),
    ),
    Operation("post", "/sign-in", "Sign in to a host that asks for something.", SignedIn, 200, SignIn),
    Operation(
        "get",
        "/live",
        "WebSocket: one frame a tick while somebody looks. `ranks=columns`: a list for each field of ranks.",
        LiveFrame,
        query=("ranks",),
    ),
)
