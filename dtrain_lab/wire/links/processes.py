"""Processes that a node agent makes: ranks, and the ipyparallel controller."""

from __future__ import annotations

from msgspec import Struct

from dtrain_lab.wire import VERSION
from dtrain_lab.wire.codec.encode import encode as encode
from dtrain_lab.wire.links.base import Message
from dtrain_lab.wire.links.output import OutputTail
from dtrain_lab.wire.metrics.collective import CollectiveCall
from dtrain_lab.wire.processes.endpoints import Keys


class Forked(Message, frozen=True, tag="forked"):
    """A process was started."""

    key: int
    pid: int


class Exited(Message, frozen=True, tag="exited"):
    """A process ended. `code` is negative if a signal ended it; `last` is the end of its log."""

    key: int
    pid: int
    code: int
    last: str = ""
    words: tuple[OutputTail, ...] = ()
    fault: str = ""
    """The traceback of a crash inside C code, with cells by name."""
    calls: tuple[CollectiveCall, ...] = ()
    """Its last collectives."""
    how: str = ""
    """Description of how the process ended, if the exit code does not show it."""


# ---- head → node agent


class RankSpec(Struct, frozen=True, omit_defaults=True):
    """Everything that a rank needs to start; passed through the fork, so that no environment exposes it."""

    rank: int
    local_rank: int
    world_size: int
    local_world_size: int
    node_rank: int
    node: str
    gpus: int
    threads: int
    link: str
    profile_dir: str
    directory: str
    log: str
    monitor: bool
    master_port: int
    probe: bool = True
    guard: bool = False
    variables: dict[str, str] = {}
    keys: Keys | None = None
    """CURVE keys of a link over TCP."""
    master_address: str = "127.0.0.1"
    interface: str | None = None
    """Network interface for gloo and NCCL; None for loopback."""


class Fork(Message, frozen=True, tag="fork"):
    """Start these ranks."""

    ranks: tuple[RankSpec, ...]


class ForkController(Message, frozen=True, tag="fork_controller"):
    """Fork the ipyparallel controller from the same fork server as the ranks."""

    arguments: tuple[str, ...]
    log: str


class Signal(Message, frozen=True, tag="signal"):
    """Send a signal to processes."""

    keys: tuple[int, ...]
    number: int


CONTROLLER = -1
"""Key of the ipyparallel controller among the processes of a node; ranks use their rank."""


# ---- rank → head


class RankHello(Message, frozen=True, tag="rank"):
    """A rank has connected and can run cells once its group is formed."""

    rank: int
    pid: int
    version: int = VERSION


class Registered(Message, frozen=True, tag="registered"):
    """A rank has registered with ipyparallel's controller, or could not: `error` says why."""

    rank: int
    pid: int
    engine: str = ""
    """Id of the engine, as the controller knows it."""
    error: str = ""


# ---- head → rank


class Register(Message, frozen=True, tag="register"):
    """Register with ipyparallel's controller. A repeated order is answered again."""

    engine: str
    """ipyparallel's connection file as JSON, including its key."""


class End(Message, frozen=True, tag="end"):
    """End the process by a normal Python exit."""
