"""What starts a head; read as JSON from stdin, so that nothing of it shows in a process list."""

from __future__ import annotations

from msgspec import Struct

from dtrain_lab.core.plan import NodeFacts


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
