"""Protocol between clients (server, kernel, terminal, Python) and a head."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dtrain_lab.wire import VERSION
from dtrain_lab.wire.cells import CellResult
from dtrain_lab.wire.clients.base import Body
from dtrain_lab.wire.clients.cells import (
    RANKS_HELD_S,
    AcquireRanks,
    Comm,
    Complete,
    Diagnose,
    Follow,
    ListCells,
    ReadOutput,
    ReleaseRanks,
    Run,
    TryAdvice,
)
from dtrain_lab.wire.clients.debugger import (
    NOT_YET,
    AcquireDebugger,
    DebugRequest,
    ReadHistory,
    ReleaseDebugger,
    Stacks,
)
from dtrain_lab.wire.clients.world import (
    BEGUN,
    AcquireLease,
    Advise,
    Clock,
    Engines,
    ForecastNodes,
    Info,
    Interrupt,
    Launch,
    Lease,
    Release,
    Resize,
    Restart,
    Stop,
    Watch,
)
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.codec import decode
from dtrain_lab.wire.codec.encode import encode as encode
from dtrain_lab.wire.links import CellOutput

__all__ = [
    "BEGUN",
    "HIGH_WATER_MARK",
    "NOT_YET",
    "RANKS_HELD_S",
    "AcquireDebugger",
    "AcquireLease",
    "AcquireRanks",
    "Advise",
    "Answer",
    "AnyBody",
    "Body",
    "CellEnded",
    "CellOutput",
    "Changed",
    "Clock",
    "Comm",
    "Complete",
    "DebugEvent",
    "DebugRequest",
    "Diagnose",
    "Engines",
    "Follow",
    "ForecastNodes",
    "Info",
    "Interrupt",
    "Launch",
    "Lease",
    "ListCells",
    "OutputMissing",
    "ReadHistory",
    "ReadOutput",
    "Release",
    "ReleaseDebugger",
    "ReleaseRanks",
    "Request",
    "Resize",
    "Restart",
    "Run",
    "Stacks",
    "Stop",
    "ToClient",
    "TryAdvice",
    "Watch",
    "decode_to_client",
    "decode_to_head",
    "encode",
]


if TYPE_CHECKING:
    AnyBody = Body
else:
    AnyBody = functools.reduce(operator.or_, Body.__subclasses__())


class Request(Struct, frozen=True, tag="call", tag_field="k"):
    """A request. `version` is the client's."""

    id: int
    body: AnyBody
    version: int = VERSION


class Answer(Struct, frozen=True, tag="answer", tag_field="k"):
    """The answer to a `Request`: the packed result, or an error as `DtrainError.as_dict` plus `kind`."""

    id: int
    result: bytes = b""
    error: dict[str, Any] | None = None


class CellEnded(Struct, frozen=True, tag="ended", tag_field="k"):
    """A cell has ended on all of its ranks; sent after all of its output."""

    result: CellResult


class OutputMissing(Struct, frozen=True, tag="missing", tag_field="k"):
    """Some pieces of a cell's output are missing: the client fell behind, and they are no longer kept."""

    cell: str
    rank: int
    pieces: int


class Changed(Struct, frozen=True, tag="changed", tag_field="k"):
    """The cluster's current state, for a client that watches."""

    cluster: Cluster


class DebugEvent(Struct, frozen=True, tag="debug_event", tag_field="k"):
    """An event of a rank's debugger, for the client that holds the debugger."""

    rank: int
    data: bytes


HIGH_WATER_MARK = 64
"""Messages that each end of a client's ZeroMQ socket keeps unread; the head has all output on disk."""
ToClient = Answer | CellOutput | OutputMissing | CellEnded | Changed | DebugEvent
"""A `CellOutput` is forwarded to the client that runs the cell exactly as the rank packed it."""

decode_to_head = decode.decoder(Request, "The client")
decode_to_client = decode.decoder(ToClient, "The cluster's head")
