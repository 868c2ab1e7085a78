"""Protocol between clients (server, kernel, terminal, Python) and a head."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from dtrain_lab.wire import VERSION
from dtrain_lab.wire.cells import CellRecord, CellResult
from dtrain_lab.wire.cells import Output as ClusterOutput
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
from dtrain_lab.wire.metrics.diagnosis import Diagnosis, Tried
from dtrain_lab.wire.metrics.forecast import Forecast
from dtrain_lab.wire.metrics.history import Point
from dtrain_lab.wire.metrics.verdicts import Advice
from dtrain_lab.wire.stacks import Stack

__all__ = [
    "BEGUN",
    "NOT_YET",
    "RANKS_HELD_S",
    "RESULTS",
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


AnyBody = (
    Launch
    | AcquireLease
    | Release
    | Info
    | Diagnose
    | TryAdvice
    | Advise
    | ForecastNodes
    | Clock
    | Watch
    | Run
    | Follow
    | ListCells
    | AcquireRanks
    | ReleaseRanks
    | Comm
    | Complete
    | Interrupt
    | Restart
    | Resize
    | Stop
    | Stacks
    | ReadOutput
    | ReadHistory
    | AcquireDebugger
    | ReleaseDebugger
    | DebugRequest
    | Engines
)


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


ToClient = Answer | CellOutput | OutputMissing | CellEnded | Changed | DebugEvent
"""A `CellOutput` is forwarded to the client that runs the cell exactly as the rank packed it."""

decode_to_head = decode.decoder(Request, "The client")
decode_to_client = decode.decoder(ToClient, "The cluster's head")

RESULTS: dict[type[Body], Any] = {
    Launch: Cluster,
    AcquireLease: Cluster,
    Release: None,
    Info: Cluster,
    Advise: tuple[Advice, ...],
    ForecastNodes: Forecast,
    Diagnose: Diagnosis,
    TryAdvice: Tried,
    Clock: float,
    Watch: None,
    Run: None,
    Follow: CellResult,
    ListCells: list[CellRecord],
    AcquireRanks: None,
    ReleaseRanks: None,
    Comm: None,
    Complete: bytes,
    Interrupt: Cluster,
    Restart: Cluster,
    Resize: Cluster,
    Stop: None,
    Stacks: list[Stack],
    ReadOutput: list[ClusterOutput],
    ReadHistory: list[Point],
    AcquireDebugger: int,
    ReleaseDebugger: None,
    DebugRequest: dict[int, bytes],
    Engines: str,
}
"""Request type → type of its result."""
