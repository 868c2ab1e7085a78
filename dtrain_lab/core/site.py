"""What a site offers to a user."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from dtrain_lab.core.cluster import Cluster
from dtrain_lab.core.job import Job


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


class LiveFrame(Struct, frozen=True):
    """A frame of the WebSocket `live`. `seq` grows by one; a gap means that a slow client skipped some."""

    type: str
    seq: int
    clusters: tuple[Cluster, ...]
    jobs: tuple[Job, ...] = ()
    """Those that run or ended lately, newest first; of one that has ended without its ranks."""


class RankSet(Struct, frozen=True, forbid_unknown_fields=True):
    """Ranks of an action; null for all."""

    ranks: tuple[int, ...] | None = None


class Size(Struct, frozen=True, forbid_unknown_fields=True):
    """How many ranks a cluster shall have."""

    ranks: int


class Error(Struct, frozen=True):
    """An error, as every route gives it."""

    code: str
    message: str
    hint: str
    details: dict[str, Any]


class SignIn(Struct, frozen=True, forbid_unknown_fields=True):
    """To begin to sign in to a host, or to answer its questions: their id, and an answer to each.

    Answers are passed on to the host and kept nowhere.
    """

    host: str | None = None
    id: str | None = None
    answers: tuple[str, ...] = ()


class SignedIn(Struct, frozen=True):
    """A host has let us in."""

    host: str
