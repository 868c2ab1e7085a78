"""Link protocol between head, node agents and ranks."""

from __future__ import annotations

from dtrain_lab.wire.codec import decode as guard
from dtrain_lab.wire.codec.encode import encode as encode
from dtrain_lab.wire.links.agents import LeaveWorld, LoopFailed, NodeHello, Preloaded, ReserveSlots
from dtrain_lab.wire.links.base import Message
from dtrain_lab.wire.links.cells import (
    CellReply,
    Comm,
    Complete,
    Completed,
    Diagnose,
    Execute,
    ValuesLogged,
    WidgetHandled,
)
from dtrain_lab.wire.links.debugger import DebugEvent, DebugRequest, DebugResponse
from dtrain_lab.wire.links.groups import Abort, FormGroup, GroupFormed, GroupSpec, StoreAnswer, StoreCall
from dtrain_lab.wire.links.job_attempts import AskEnd, Attempt, AttemptState, RanksLaunched
from dtrain_lab.wire.links.network import Listen, Listening, Probe, Probed, StopListening, Target
from dtrain_lab.wire.links.output import (
    WIDGET_VIEW,
    CellOutput,
    OutputConfirmed,
    OutputStalled,
    OutputTail,
    PendingOutput,
    ReadPendingOutput,
)
from dtrain_lab.wire.links.processes import (
    CONTROLLER,
    End,
    Exited,
    Fork,
    ForkController,
    Forked,
    RankHello,
    RankSpec,
    Register,
    Registered,
    Signal,
)
from dtrain_lab.wire.links.samples import RankMetrics, RankSample, Samples
from dtrain_lab.wire.links.stacks import ReadStacks, StacksRead

__all__ = [
    "CONTROLLER",
    "WIDGET_VIEW",
    "Abort",
    "AskEnd",
    "Attempt",
    "AttemptState",
    "CellOutput",
    "CellReply",
    "Comm",
    "Complete",
    "Completed",
    "DebugEvent",
    "DebugRequest",
    "DebugResponse",
    "Diagnose",
    "End",
    "Execute",
    "Exited",
    "Fork",
    "ForkController",
    "Forked",
    "FormGroup",
    "FromAgent",
    "FromRank",
    "GroupFormed",
    "GroupSpec",
    "LeaveWorld",
    "Listen",
    "Listening",
    "LoopFailed",
    "Message",
    "NodeHello",
    "OutputConfirmed",
    "OutputStalled",
    "OutputTail",
    "PendingOutput",
    "Preloaded",
    "Probe",
    "Probed",
    "RankHello",
    "RankMetrics",
    "RankSample",
    "RankSpec",
    "RanksLaunched",
    "ReadPendingOutput",
    "ReadStacks",
    "Register",
    "Registered",
    "ReserveSlots",
    "Samples",
    "Signal",
    "StacksRead",
    "StopListening",
    "StoreAnswer",
    "StoreCall",
    "Target",
    "ToAgent",
    "ToRank",
    "ValuesLogged",
    "WidgetHandled",
    "decode_from_job_rank",
    "decode_to_agent",
    "decode_to_head",
    "decode_to_rank",
    "encode",
]


FromAgent = (
    NodeHello
    | RanksLaunched
    | AskEnd
    | Preloaded
    | Forked
    | Exited
    | Samples
    | Listening
    | Probed
    | OutputStalled
    | PendingOutput
    | LoopFailed
)
ToAgent = (
    Fork
    | ReserveSlots
    | ForkController
    | Signal
    | Listen
    | Probe
    | StopListening
    | ReadStacks
    | ReadPendingOutput
    | LeaveWorld
    | DebugRequest
    | Attempt
)
FromRank = (
    ValuesLogged
    | RankHello
    | Registered
    | GroupFormed
    | CellOutput
    | CellReply
    | StoreCall
    | StacksRead
    | Completed
    | WidgetHandled
    | DebugResponse
    | DebugEvent
)
ToRank = (
    Execute
    | Diagnose
    | FormGroup
    | Register
    | Abort
    | StoreAnswer
    | ReadStacks
    | OutputConfirmed
    | Comm
    | Complete
    | DebugRequest
    | End
)

decode_to_head = guard.decoder(FromAgent | FromRank, "A rank or a node agent")
decode_from_job_rank = guard.decoder(DebugResponse | DebugEvent, "A rank")
decode_to_agent = guard.decoder(ToAgent, "The cluster's head")
decode_to_rank = guard.decoder(ToRank, "The cluster's head")
