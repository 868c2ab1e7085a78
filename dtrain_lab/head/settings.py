"""What starts a head; read as JSON from stdin, so that nothing of it shows in a process list."""

from __future__ import annotations

from msgspec import Struct

from dtrain_lab.core.plan import NodeFacts
from dtrain_lab.core.wire.doors import Launch


class Remote(Struct, frozen=True):
    """What a head needs that is started for one world, on another machine or in an allocation.

    `endpoints`: file to write once it listens, 0600; it holds the world's keys and is removed once all agents
    have joined. `own_agent`: the head starts its node's agent itself. `idle_s`: without a cell for so long,
    the world ends.
    """

    launch: Launch
    endpoints: str
    own_agent: bool = True
    ports: str | None = None
    interface: str | None = None
    idle_s: float = 1800.0


class Settings(Struct, frozen=True):
    """`directory` holds sockets, logs and ipyparallel's files, 0700 and node-local. `record`: path of the
    file by which this head is found. `variables`: environment of the ranks, known before the plan because
    the fork server is exec'ed with it."""

    id: str
    directory: str
    record: str
    environment: str
    node: NodeFacts
    variables: dict[str, str] = {}
    server: int | None = None
    adoption_s: float = 600.0
    remote: Remote | None = None
