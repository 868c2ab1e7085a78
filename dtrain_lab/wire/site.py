"""Types of the REST and WebSocket interface that concern the whole site: machine, sign-in, errors."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.jobs.job import Job
from dtrain_lab.wire.loop_failures import InternalFailure
from dtrain_lab.wire.metrics.diagnosis import Diagnosis, Tried
from dtrain_lab.wire.node_check import ProfileCheck
from dtrain_lab.wire.summary import Summary
from dtrain_lab.wire.sweeps import SweepState


class Site(Struct, frozen=True):
    """The machine of the Jupyter server, and what this user may do with it."""

    node: str
    cpus: int
    gpus: int
    memory_bytes: int
    default_ranks: int
    most_ranks: int
    local: bool
    may_write: bool
    troubles: tuple[InternalFailure, ...] = ()
    """Failures of the server's background work through bugs of ours; the server goes on."""


class LiveFrame(Struct, frozen=True):
    """A frame of the WebSocket `live`.

    `seq` grows by one; a gap means that a slow client missed frames. The last frame is sent again after some
    seconds without a change: the same `seq` says that the server is there, and that nothing is new.
    """

    type: str
    seq: int
    clusters: tuple[Cluster, ...]
    jobs: tuple[Job, ...] = ()
    """Running and recently ended jobs, newest first; ended ones without their ranks."""
    sweeps: dict[str, SweepState] = {}
    """States of the sweeps that have not ended, by id: between two trials, a sweep has no job that runs."""
    ended: dict[str, Summary] = {}
    """The last state of clusters that ended lately, by id: its values say who has stopped one, and when."""
    untold: tuple[Cluster, ...] = ()
    """Clusters that ended by themselves while no page was open, also before this server started.

    In the first frame of a connection only. `summary.values` lack `at` where nobody knows when one ended.
    """


class RankSet(Struct, frozen=True, forbid_unknown_fields=True):
    """Ranks of an action: 0, [0, 2] or "0,2-3"; null for all.

    `source`: for a restart, the rank whose variables are copied to them.
    """

    ranks: tuple[int, ...] | int | str | None = None
    source: int | None = None


class KernelUse(Struct, frozen=True):
    """A kernel's notebook, by the path of the kernel's start, and the id of the cluster that it used last.

    The cluster may have ended: the kernel then takes no other one by itself.
    """

    notebook: str | None = None
    cluster: str | None = None


class AdviceToTry(Struct, frozen=True, forbid_unknown_fields=True):
    """Advice to be tried, by its id."""

    advice: str


class Size(Struct, frozen=True, forbid_unknown_fields=True):
    """New number of ranks of a cluster."""

    ranks: int


class ProfileText(Struct, frozen=True, forbid_unknown_fields=True):
    """A profile as the text of its file."""

    text: str


class ProfileFile(Struct, frozen=True):
    """The text of a profile's file, with what helps to edit it."""

    text: str
    keys: str
    """All keys with examples, as TOML; empty if not known."""


class Error(Struct, frozen=True):
    """An error, as every route returns it."""

    code: str
    message: str
    hint: str
    details: dict[str, Any]


WorkState = Literal["running", "done", "failed"]
"""State of work that a request has begun."""


class Measurement(Struct, frozen=True):
    """A diagnosis, or a trial of advice, that a request to this server has begun.

    `advice`: id of the advice that is tried. The result is `diagnosis` or `tried`; `error` says why there is
    none.
    """

    id: str
    kind: Literal["diagnosis", "advice_trial"]
    state: WorkState
    began_at: float
    advice: str | None = None
    diagnosis: Diagnosis | None = None
    tried: Tried | None = None
    error: Error | None = None


class CheckedProfile(Struct, frozen=True):
    """The check of a profile's nodes that a request to this server has begun last."""

    id: str
    state: WorkState
    began_at: float
    check: ProfileCheck | None = None
    error: Error | None = None


class SignIn(Struct, frozen=True, forbid_unknown_fields=True):
    """A request to begin a sign-in to a host, or answers to its questions: their id, and one answer each.

    Answers are forwarded to the host and never stored.
    """

    host: str | None = None
    id: str | None = None
    answers: tuple[str, ...] = ()


class SignedIn(Struct, frozen=True):
    """A sign-in to a host succeeded."""

    host: str
