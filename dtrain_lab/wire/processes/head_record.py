"""Records by which running heads are found: small JSON files in a folder that only its user can read."""

from __future__ import annotations

from msgspec import Struct

from dtrain_lab.wire.plan import Plan
from dtrain_lab.wire.processes.endpoints import Endpoints
from dtrain_lab.wire.profile import Profile


class Handle(Struct, frozen=True):
    """Identifies what a back-end has started, so that another process can ask about it later.

    `directory`: folder of the head's logs. `job`: the scheduler's id. `endpoints`: only if they are known at
    once. `system`: the host boot and PID namespace of `pid` (`machine.processes.system`), if known.
    """

    id: str
    host: str
    pid: int = 0
    started: float = 0.0
    directory: str = ""
    job: str = ""
    endpoints: Endpoints | None = None
    system: str = ""


class SubmittedWorld(Struct, frozen=True):
    """A world whose head runs, or will run, on another machine; clients keep its record, not the head.

    `handle`: None until the back-end has accepted the world. Whoever reads the record then finds the world by
    its id, if the client that submitted it is gone.
    """

    profile: Profile
    plan: Plan
    handle: Handle | None
    owner: str
    problem: tuple[str, str] | None = None
    """Why the world ended before it was ready: message and hint."""


class Server(Struct, frozen=True):
    """A Jupyter server of this machine: pid and start time (`machine.processes.started`); no pid: none."""

    pid: int | None = None
    started: float = 0.0


class HeadRecord(Struct, frozen=True):
    """A running head; a head on another machine has no process, socket and environment here.

    `warm`: it has no ranks yet and can be claimed. `environment`: key of its ranks' environment. `system`:
    the host boot and PID namespace of `pid` (`machine.processes.system`). `server`: pid of the Jupyter server
    whose kernel or panel started the head or its world, so that a server can take a lease. `server_started`:
    start time of that server; 0 if an older version wrote the record. The head of a world may be older than
    the server, as another server's warm head can be claimed.
    """

    id: str
    name: str
    directory: str
    created_at: float
    version: int
    host: str = ""
    pid: int = 0
    started: float = 0.0
    socket: str = ""
    environment: str = ""
    warm: bool = False
    server: int | None = None
    server_started: float = 0.0
    remote: SubmittedWorld | None = None
    system: str = ""
