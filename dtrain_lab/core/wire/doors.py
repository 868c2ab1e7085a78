"""What doors (server, kernel, terminal, Python) and a head say to each other."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from dtrain_lab.core.cluster import CellResult, Cluster, Stack
from dtrain_lab.core.cluster import Output as ClusterOutput
from dtrain_lab.core.kinds import LeaseKind
from dtrain_lab.core.plan import Plan, Request
from dtrain_lab.core.wire import VERSION
from dtrain_lab.core.wire.links import CellOutput


class Body(Struct, frozen=True, tag_field="k", omit_defaults=True):
    """Base of what a door asks."""


class Lease(Struct, frozen=True):
    """Someone who keeps a world alive: a process of this host, told apart by its start time."""

    kind: LeaseKind
    host: str
    pid: int
    started: float
    notebook: str | None = None


class Launch(Body, frozen=True, tag="launch"):
    """Make this head, which has no ranks yet, the head of a world."""

    plan: Plan
    request: Request
    name: str
    owner: str


class Hold(Body, frozen=True, tag="hold"):
    """Take a lease; `attach` also makes the lease's notebook one of the cluster's."""

    lease: Lease
    attach: bool = False


class Release(Body, frozen=True, tag="release"):
    """Give a lease back, in order."""

    lease: Lease


class Info(Body, frozen=True, tag="info"):
    """Ask for the cluster."""


class Watch(Body, frozen=True, tag="watch"):
    """Ask for `Changed` at most every `period_s` seconds; 0 ends it. Renewed within 10 s or forgotten."""

    period_s: float


class Run(Body, frozen=True, tag="run"):
    """Run a cell; output arrives as `CellOutput`, the end as `CellEnded`."""

    cell: str
    code: str
    label: str
    ranks: tuple[int, ...] | None = None
    first_line: int = 1
    notebook: str | None = None
    timeout_s: float | None = None


class Interrupt(Body, frozen=True, tag="interrupt"):
    """Interrupt what runs; variables are kept."""

    ranks: tuple[int, ...] | None = None
    cell: str | None = None


class Restart(Body, frozen=True, tag="restart"):
    """New processes for these ranks; answers once the world is ready again."""

    ranks: tuple[int, ...] | None = None


class Stop(Body, frozen=True, tag="stop"):
    """End the world."""


class Stacks(Body, frozen=True, tag="stacks"):
    """Ask for the stacks of ranks."""

    ranks: tuple[int, ...] | None = None


class ReadOutput(Body, frozen=True, tag="read_output"):
    """Ask for outputs after a sequence number, oldest first."""

    after: int = -1
    most: int = 1000


class Engines(Body, frozen=True, tag="engines"):
    """Ask for ipyparallel's client connection file, once every rank is registered."""


AnyBody = (
    Launch | Hold | Release | Info | Watch | Run | Interrupt | Restart | Stop | Stacks | ReadOutput | Engines
)


class Call(Struct, frozen=True, tag="call", tag_field="k"):
    """A question. `version` is the door's."""

    id: int
    body: AnyBody
    version: int = VERSION


class Answer(Struct, frozen=True, tag="answer", tag_field="k"):
    """An answer: the packed result, or an error as `DtrainError.as_dict` plus `kind`."""

    id: int
    result: bytes = b""
    error: dict[str, Any] | None = None


class CellEnded(Struct, frozen=True, tag="ended", tag_field="k"):
    """A cell has ended on all of its ranks; all its output came before."""

    result: CellResult


class Changed(Struct, frozen=True, tag="changed", tag_field="k"):
    """The cluster, for a door that watches."""

    cluster: Cluster


ToDoor = Answer | CellOutput | CellEnded | Changed
"""A `CellOutput` is passed on to the door that runs the cell as the rank packed it."""

encode = msgspec.msgpack.Encoder().encode
decode_to_head = msgspec.msgpack.Decoder(Call).decode
decode_to_door = msgspec.msgpack.Decoder(ToDoor).decode

RESULTS: dict[type[Body], Any] = {
    Launch: Cluster,
    Hold: Cluster,
    Release: None,
    Info: Cluster,
    Watch: None,
    Run: None,
    Interrupt: Cluster,
    Restart: Cluster,
    Stop: None,
    Stacks: list[Stack],
    ReadOutput: list[ClusterOutput],
    Engines: str,
}
"""What each question is answered with."""
