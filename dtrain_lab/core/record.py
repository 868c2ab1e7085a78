"""The record by which a running head is found: one small JSON file in a folder that only its user reads."""

from __future__ import annotations

from msgspec import Struct

from dtrain_lab.core.endpoints import Endpoints
from dtrain_lab.core.plan import Plan
from dtrain_lab.core.profile import Profile


class Handle(Struct, frozen=True):
    """What was started, so that another process can ask for it later.

    `directory`: of the head's logs. `job`: the scheduler's id. `endpoints`: where they are known at once.
    """

    id: str
    host: str
    pid: int = 0
    started: float = 0.0
    directory: str = ""
    job: str = ""
    endpoints: Endpoints | None = None


class Remote(Struct, frozen=True):
    """A world whose head runs on another machine, or will. The doors keep its record, not the head."""

    profile: Profile
    plan: Plan
    handle: Handle
    owner: str
    problem: tuple[str, str] | None = None
    """Why it ended before it was ready: message and hint."""


class HeadRecord(Struct, frozen=True):
    """A running head.

    `warm`: it has no ranks yet and can be claimed. `environment`: key of what its ranks would run in.
    `server`: pid of the Jupyter server whose kernel or panel started it, so that the server can hold it.
    """

    id: str
    name: str
    host: str
    boot: str
    pid: int
    started: float
    socket: str
    directory: str
    environment: str
    warm: bool
    created_at: float
    version: int
    server: int | None = None
    remote: Remote | None = None
