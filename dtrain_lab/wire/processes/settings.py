"""Settings of the processes that we start.

They are passed as JSON on stdin or in a 0600 file, so that no process list shows them.
"""

from __future__ import annotations

from msgspec import Struct

from dtrain_lab.wire.clients import Launch
from dtrain_lab.wire.plan import NodeFacts
from dtrain_lab.wire.processes.endpoints import Keys

HEIR = "heir"
"""Name of the socket at which an agent takes over a fork server."""
HEIR_WITHIN_S = 10.0
"""Seconds within which that agent has to listen: Python starts twice, for the head and for the agent. If
that takes long, the processor is busy, and loading torch again would take much longer."""


class SubmittedHead(Struct, frozen=True):
    """Settings of a head that is started for one world, on another machine or in an allocation.

    `endpoints`: 0600 file that the head writes once it listens; it holds the world's keys and is removed once
    all agents have joined. `own_agent`: the head starts its node's agent itself. `idle_s`: seconds without a
    running cell after which the world ends.
    """

    launch: Launch
    endpoints: str
    own_agent: bool = True
    ports: str | None = None
    interface: str | None = None
    idle_s: float = 1800.0


class HeadSettings(Struct, frozen=True):
    """Settings of a head that owns its ranks.

    `directory` holds sockets, logs and ipyparallel's files; it is node-local and has mode 0700. `record`:
    path of the file by which this head is found. `variables`: environment of the ranks, needed before the
    plan because the fork server is exec'ed with it. `inherits`: its agent takes over the fork server of a
    head that ends, at the socket `HEIR` in `directory`. `server`, `server_started`: as in `HeadRecord`.
    """

    id: str
    directory: str
    record: str
    environment: str
    node: NodeFacts
    variables: dict[str, str] = {}
    server: int | None = None
    server_started: float = 0.0
    adoption_s: float = 600.0
    remote: SubmittedHead | None = None
    inherits: bool = False


class AgentSettings(Struct, frozen=True):
    """Settings of a node agent that starts ranks for its head: a line of JSON on stdin.

    `link` may be empty while it is unknown: the agent then starts its fork server and waits for a second
    line with complete settings.
    """

    node: int
    name: str
    link: str
    directory: str
    gpus: int = 0
    variables: dict[str, str] = {}
    lifeline: int | None = None
    """Descriptor whose end of file means that the head, or another owner of this agent, is gone."""
    keys: Keys | None = None
    """CURVE keys of a link over TCP."""
    inherits: bool = False
    """Whether the agent takes over a fork server, see `HeadSettings`."""
    joins: bool = False
    """Whether the agent was not started by the head, which then does not know the node yet."""


class Policy(Struct, frozen=True):
    """Administrators' limits on requests; None, True or 0: no limit.

    `local`: ranks may run on this machine. `hosts`: allowed hosts, as patterns ("gpu-*"). `options`: profiles
    may pass their own options to the scheduler. `ports`: range that must contain a profile's ports, and their
    default. `ranks`: maximum per world. `environments`: a job's request may name the folder of its
    environment.
    """

    backends: tuple[str, ...] | None = None
    hosts: tuple[str, ...] | None = None
    options: bool = True
    ports: str | None = None
    idle_limit_s: float = 1800.0
    poll_floor_s: float = 30.0
    local: bool = True
    ranks: int = 0
    environments: bool = True


class OutputLimits(Struct, frozen=True):
    """Limits of a kernel's output that a Jupyter server forwards; their defaults are Jupyter's own.

    `bytes_per_s`: bytes of streams per second. `messages_per_s`: messages per second. Both are means over
    `window_s` seconds; 0: no limit.
    """

    bytes_per_s: float = 1_000_000
    messages_per_s: float = 1000
    window_s: float = 3.0


class ServerSettings(Struct, frozen=True):
    """Settings that a Jupyter server passes to its kernels and terminals, in a file named by its pid.

    `warm`: kernels may start a head without ranks in the background. `started`: start time of the server's
    process. `output`: what it passes on of a kernel's output.
    """

    policy: Policy = Policy()
    warm: bool = True
    output: OutputLimits = OutputLimits()
    started: float = 0.0


class StartOptions(Struct, frozen=True):
    """A user's options from environment variables such as `DTRAIN_LAB_WARM` and `DTRAIN_LAB_AUTO_START`."""

    warm: bool = True
    auto_start: bool = True
    adoption_s: float | None = None
    poll_floor_s: float | None = None
