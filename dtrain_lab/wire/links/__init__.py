"""Link protocol between head, node agents and ranks."""

from __future__ import annotations

from dtrain_lab.wire.codec import decode as guard
from dtrain_lab.wire.codec.encode import encode as encode
from dtrain_lab.wire.links.agents import Leave, NodeHello, Preloaded, ReserveSlots, Troubled
from dtrain_lab.wire.links.cells import (
    CellReply,
    Comm,
    Complete,
    Completed,
    Diagnose,
    Execute,
    Handled,
    Logged,
)
from dtrain_lab.wire.links.debugger import Debug, DebugEvent, Debugged
from dtrain_lab.wire.links.groups import Abort, Form, GroupFormed, GroupSpec, StoreAnswer, StoreCall
from dtrain_lab.wire.links.launched import AskEnd, Attached, Attempt, Stand
from dtrain_lab.wire.links.message import Message
from dtrain_lab.wire.links.network import Listen, Listening, Probe, Probed, StopListening, Target
from dtrain_lab.wire.links.output import (
    CellOutput,
    OutputStalled,
    OutputTail,
    PendingOutput,
    ReadPendingOutput,
    Seen,
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
from dtrain_lab.wire.links.samples import RankFigures, RankSample, Samples
from dtrain_lab.wire.links.stacks import AskStacks, AskWhere, Here

__all__ = [
    "CONTROLLER",
    "Abort",
    "AskEnd",
    "AskStacks",
    "AskWhere",
    "Attached",
    "Attempt",
    "CellOutput",
    "CellReply",
    "Comm",
    "Complete",
    "Completed",
    "Debug",
    "DebugEvent",
    "Debugged",
    "Diagnose",
    "End",
    "Execute",
    "Exited",
    "Fork",
    "ForkController",
    "Forked",
    "Form",
    "FromAgent",
    "FromRank",
    "GroupFormed",
    "GroupSpec",
    "Handled",
    "Here",
    "Leave",
    "Listen",
    "Listening",
    "Logged",
    "Message",
    "NodeHello",
    "OutputStalled",
    "OutputTail",
    "PendingOutput",
    "Preloaded",
    "Probe",
    "Probed",
    "RankFigures",
    "RankHello",
    "RankSample",
    "RankSpec",
    "ReadPendingOutput",
    "Register",
    "Registered",
    "ReserveSlots",
    "Samples",
    "Seen",
    "Signal",
    "Stand",
    "StopListening",
    "StoreAnswer",
    "StoreCall",
    "Target",
    "ToAgent",
    "ToRank",
    "Troubled",
    "decode_from_attached_rank",
    "decode_to_agent",
    "decode_to_head",
    "decode_to_rank",
    "encode",
]


FromAgent = (
    NodeHello
    | Attached
    | AskEnd
    | Preloaded
    | Forked
    | Exited
    | Samples
    | Listening
    | Probed
    | OutputStalled
    | PendingOutput
    | Troubled
)
ToAgent = (
    Fork
    | ReserveSlots
    | ForkController
    | Signal
    | Listen
    | Probe
    | StopListening
    | AskStacks
    | ReadPendingOutput
    | Leave
    | Debug
    | Attempt
)
FromRank = (
    Logged
    | RankHello
    | Registered
    | GroupFormed
    | CellOutput
    | CellReply
    | StoreCall
    | Here
    | Completed
    | Handled
    | Debugged
    | DebugEvent
)
ToRank = (
    Execute
    | Diagnose
    | Form
    | Register
    | Abort
    | StoreAnswer
    | AskWhere
    | Seen
    | Comm
    | Complete
    | Debug
    | End
)

decode_to_head = guard.decoder(FromAgent | FromRank, "A rank or a node agent")
decode_from_attached_rank = guard.decoder(Debugged | DebugEvent, "A rank")
decode_to_agent = guard.decoder(ToAgent, "The cluster's head")
decode_to_rank = guard.decoder(ToRank, "The cluster's head")
