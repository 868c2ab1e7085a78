"""What head, node agents and ranks say to each other."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from dtrain_lab.core.attempt import Stand
from dtrain_lab.core.cluster import Epoch, Frame, HostUse
from dtrain_lab.core.endpoints import Keys
from dtrain_lab.core.estimate.ring import Call
from dtrain_lab.core.fitness import Check
from dtrain_lab.core.kinds import CellOutputKind, CommKind
from dtrain_lab.core.wire import VERSION

GroupSpec = tuple[str, tuple[int, ...], str]
"""A process group as every rank of it knows it: name, global ranks, description."""


class Message(Struct, frozen=True, tag_field="k", omit_defaults=True):
    """Base of all messages of the link."""


# ---- node agent → head


class NodeHello(Message, frozen=True, tag="node"):
    """A node agent has connected."""

    node: int
    name: str
    pid: int
    version: int = VERSION
    directory: str = ""
    """Where this node's ranks have their logs."""
    check: Check | None = None
    """What the node has, where somebody else than the head chose it."""
    link: str = ""
    """URL by which this node reaches the head."""


class Listening(Message, frozen=True, tag="listening"):
    """Answers `Listen`; `error` says why not."""

    node: int
    port: int = 0
    error: str = ""


class Probed(Message, frozen=True, tag="probed"):
    """Answers `Probe`: the nodes that this one can't connect to."""

    node: int
    blocked: tuple[int, ...] = ()


class Preloaded(Message, frozen=True, tag="preloaded"):
    """The fork server of a node holds torch and is ready to fork; or `error` says why it never will."""

    node: int
    seconds: float = 0.0
    torch: str = ""
    error: str = ""
    hint: str = ""


class Forked(Message, frozen=True, tag="forked"):
    """A process was made."""

    key: int
    pid: int


class Exited(Message, frozen=True, tag="exited"):
    """A process ended. `code` is negative where a signal ended it; `last` is the end of its log."""

    key: int
    pid: int
    code: int
    last: str = ""
    words: tuple[Words, ...] = ()
    fault: str = ""
    """The traceback of a crash inside C code, its cells named."""
    calls: tuple[Call, ...] = ()
    """Its last collectives."""
    how: str = ""
    """In words, where the exit code does not tell it."""


class Words(Struct, frozen=True):
    """The end of what a rank wrote to a stream; the head may have some of it already.

    `through`: bytes written in all. `piped`: what C code wrote and the rank had not read yet.
    """

    stream: Literal["stdout", "stderr"]
    through: int
    text: bytes
    piped: bytes = b""


class RankSample(Struct, frozen=True, omit_defaults=True):
    """What one rank did lately, measured where it runs. Seconds, bytes, shares 0 to 1."""

    rank: int
    step: int | None = None
    steps_per_s: float | None = None
    samples_per_s: float | None = None
    tokens_per_s: float | None = None
    step_s: float | None = None
    data_s: float | None = None
    compute_s: float | None = None
    optimizer_s: float | None = None
    exposed_s: float | None = None
    exposed_error_s: float | None = None
    synced: bool = False
    on_processor: float = 0.0
    typical_own_s: float | None = None
    bound: str = ""
    unsure: bool = False
    epoch: Epoch | None = None
    operation: str | None = None
    sequence: int | None = None
    in_operation_s: float | None = None
    doing: str | None = None
    beat_s: float | None = None
    """Since the monitor last saw this rank do anything."""
    stopped: bool = False
    """A signal has stopped the process."""
    throttled: str = ""
    """Why its GPU is slowed down."""
    calls: tuple[Call, ...] = ()
    """Its last collectives; told while it stands in one."""
    cpu_utilization: float | None = None
    memory_bytes: int | None = None
    device_memory_bytes: int | None = None
    device_memory_total_bytes: int | None = None
    device_utilization: float | None = None


class Attached(Message, frozen=True, tag="attached"):
    """An agent that keeps ranks which a launcher makes: a process for each has begun.

    `restart`: how often the launcher has begun anew.
    """

    node: int
    name: str
    ranks: tuple[tuple[int, int, int], ...]
    """Rank, local rank and pid of each."""
    restart: int = 0
    version: int = VERSION


class AskEnd(Message, frozen=True, tag="ask_end"):
    """All ranks of an agent have ended well in this attempt: have all others'?"""

    restart: int


class Samples(Message, frozen=True, tag="samples"):
    """One tick of a node."""

    node: int
    samples: tuple[RankSample, ...]
    host: HostUse | None = None


# ---- head → node agent


class RankSpec(Struct, frozen=True, omit_defaults=True):
    """All that a rank needs to know; it travels through the fork, so no environment shows it."""

    rank: int
    local_rank: int
    world_size: int
    local_world_size: int
    node_rank: int
    node: str
    gpus: int
    threads: int
    link: str
    engine: str
    """Connection file of ipyparallel as JSON, with its key."""
    profile_dir: str
    directory: str
    log: str
    monitor: bool
    master_port: int
    probe: bool = True
    guard: bool = False
    variables: dict[str, str] = {}
    replaces: bool = False
    """Another process was this rank before."""
    keys: Keys | None = None
    """Of a link over TCP."""
    master_address: str = "127.0.0.1"
    interface: str | None = None
    """For gloo and NCCL; loopback where nobody says."""


class Fork(Message, frozen=True, tag="fork"):
    """Make these ranks."""

    ranks: tuple[RankSpec, ...]


class Hold(Message, frozen=True, tag="hold"):
    """Slots of this node for so many ranks of the cluster; where it has GPUs, the ranks get those."""

    cluster: str
    name: str
    ranks: int


class ForkController(Message, frozen=True, tag="fork_controller"):
    """Make the ipyparallel controller, from the same preloaded memory."""

    arguments: tuple[str, ...]
    log: str


class Signal(Message, frozen=True, tag="signal"):
    """Send a signal to processes."""

    keys: tuple[int, ...]
    number: int


class Listen(Message, frozen=True, tag="listen"):
    """Answer with this nonce whoever connects at this address, until `Probe` has been answered."""

    address: str
    nonce: str
    ports: tuple[int, ...] = ()


class Target(Struct, frozen=True):
    """Where another node listens."""

    node: int
    address: str
    port: int
    nonce: str


class Probe(Message, frozen=True, tag="probe"):
    """Connect to other nodes."""

    targets: tuple[Target, ...]


class Hush(Message, frozen=True, tag="hush"):
    """All nodes have probed: listen no more."""


class Leave(Message, frozen=True, tag="leave"):
    """End every process of the node, and the agent itself."""


class Attempt(Message, frozen=True, tag="attempt"):
    """Answers `AskEnd`, and comes once more when it is over."""

    restart: int
    stand: Stand


CONTROLLER = -1
"""Key of the ipyparallel controller among the processes of a node; ranks use their rank."""


# ---- rank → head


class RankHello(Message, frozen=True, tag="rank"):
    """A rank has connected and can run cells once its group is formed."""

    rank: int
    pid: int
    version: int = VERSION


class GroupFormed(Message, frozen=True, tag="formed"):
    """A rank has formed (or failed to form) the group of a generation."""

    rank: int
    generation: int
    error: str = ""
    unpointed: tuple[str, ...] = ()
    """Live objects that could not be given the new group, by name."""
    groups: tuple[GroupSpec, ...] = ()
    group_count: int = 0


class CellOutput(Message, frozen=True, tag="output"):
    """What a rank printed or displayed. `data` is JSON, passed on unread.

    `through`: bytes that the rank has written to this stream since its start, this text included.
    """

    cell: str
    rank: int
    kind: CellOutputKind
    text: str = ""
    data: bytes = b""
    buffers: tuple[bytes, ...] = ()
    through: int = 0


class CellReply(Message, frozen=True, tag="reply"):
    """A cell ended on a rank. Sent after all of its output."""

    cell: str
    rank: int
    kind: Literal["ok", "raised", "interrupted"] = "ok"
    type: str = ""
    message: str = ""
    frames: tuple[Frame, ...] = ()
    value: str = ""
    has_group: bool = True
    """False where the cell destroyed the default group."""
    sequence: int | None = None
    """Collectives issued in the default group."""
    calls: tuple[Call, ...] = ()
    """The last collectives of a rank whose cell did not end well."""
    groups: tuple[GroupSpec, ...] = ()
    group_count: int = 0


class StoreCall(Message, frozen=True, tag="store"):
    """The rendezvous store, asked by a rank. See `dist.Store` for the operations."""

    rank: int
    id: int
    operation: Literal["set", "get", "add", "compare_set", "check", "wait", "delete", "count"]
    keys: tuple[str, ...] = ()
    value: bytes = b""
    expected: bytes = b""
    amount: int = 0


class Here(Message, frozen=True, tag="here"):
    """Where a rank's main thread is, or all its stacks. Answers `AskWhere`."""

    rank: int
    id: int
    frames: tuple[Frame, ...] = ()
    text: str = ""


class Logged(Message, frozen=True, tag="logged"):
    """`dt.log`: the user's own values of a step."""

    rank: int
    step: int
    at: float
    values: dict[str, float] = {}


class Debugged(Message, frozen=True, tag="debugged"):
    """Answers `Debug`: the debugger's response as JSON."""

    rank: int
    id: int
    data: bytes = b""


class DebugEvent(Message, frozen=True, tag="debug_event"):
    """Something has happened in a rank's debugger: the event as JSON. `paused`: whether the rank stands."""

    rank: int
    data: bytes
    paused: bool = False


class Completed(Message, frozen=True, tag="completed"):
    """Answers `Complete`: the reply's content as JSON; empty where the rank is busy."""

    rank: int
    id: int
    data: bytes = b""


# ---- head → rank


class Execute(Message, frozen=True, tag="execute"):
    """Run a cell."""

    cell: str
    code: str
    label: str
    first_line: int = 1
    """The user's line number of the code's first line (2 under a magic)."""
    source: str = ""
    """Name by which a debugger knows the cell; the same for the same text."""


class Form(Message, frozen=True, tag="form"):
    """Form the group of a generation: join it anew, or re-point the live groups at it."""

    generation: int
    size: int
    local_size: int
    threads: int
    collectives: str
    groups: tuple[GroupSpec, ...] = ()
    group_count: int = 0


class Seen(Message, frozen=True, tag="seen"):
    """The head has a rank's output up to this count: the rank need not keep it any longer."""

    stream: Literal["stdout", "stderr"]
    through: int


class Comm(Message, frozen=True, tag="comm"):
    """A widget's front end has said something. `data` is the message's content as JSON."""

    cell: str
    kind: CommKind
    data: bytes
    buffers: tuple[bytes, ...] = ()


class Complete(Message, frozen=True, tag="complete"):
    """Ask a rank for completions at a place in a code, or what is known about the name there."""

    id: int
    code: str
    cursor: int
    inspect: bool = False
    detail: int = 0


class Debug(Message, frozen=True, tag="debug"):
    """A request of the debug adapter protocol for one rank, or one of ours (`rank.debugger`)."""

    rank: int
    id: int
    command: str
    arguments: bytes = b"{}"
    """JSON."""


class Abort(Message, frozen=True, tag="abort"):
    """Break every collective that waits, from outside the main thread."""


class StoreAnswer(Message, frozen=True, tag="stored"):
    """Answer to a `StoreCall`."""

    id: int
    value: bytes = b""
    number: int = 0


class AskWhere(Message, frozen=True, tag="where"):
    """Ask a rank where it is; `stacks` for all of its threads."""

    id: int
    stacks: bool = False


class AskStacks(Message, frozen=True, tag="stacks"):
    """Ask an agent for the stacks of ranks that don't answer themselves: one holds the GIL."""

    id: int
    ranks: tuple[int, ...]


class End(Message, frozen=True, tag="end"):
    """End the process, in order."""


FromAgent = NodeHello | Attached | AskEnd | Preloaded | Forked | Exited | Samples | Listening | Probed
ToAgent = Fork | Hold | ForkController | Signal | Listen | Probe | Hush | AskStacks | Leave
FromRank = (
    Logged
    | RankHello
    | GroupFormed
    | CellOutput
    | CellReply
    | StoreCall
    | Here
    | Completed
    | Debugged
    | DebugEvent
)
ToRank = Execute | Form | Abort | StoreAnswer | AskWhere | Seen | Comm | Complete | Debug | End

encode = msgspec.msgpack.Encoder().encode
decode_to_head = msgspec.msgpack.Decoder(FromAgent | FromRank).decode
decode_to_attached = msgspec.msgpack.Decoder(AskWhere | Debug | Leave | Attempt).decode
decode_from_attached_rank = msgspec.msgpack.Decoder(Debugged | DebugEvent).decode
decode_to_agent = msgspec.msgpack.Decoder(ToAgent).decode
decode_to_rank = msgspec.msgpack.Decoder(ToRank).decode
