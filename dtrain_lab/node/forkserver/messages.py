"""Messages between a node agent and a fork server."""

from __future__ import annotations

import msgspec

from dtrain_lab.wire.codec import decode
from dtrain_lab.wire.links import RankSpec

MESSAGE = 1 << 20
"""Maximum bytes of a message; the socket refuses most that are larger than a quarter of it."""
FILES = 8
"""Maximum number of descriptors that are attached to a message."""
NO_PROCESS = -1
"""Process id of a process that could not be forked."""


class ForkRank(msgspec.Struct, frozen=True, tag=True):
    """Fork a rank; descriptors of its metrics ring, output buffer, fault file and two pipes are attached."""

    spec: RankSpec


class ForkController(msgspec.Struct, frozen=True, tag=True):
    """Fork the ipyparallel controller."""

    arguments: tuple[str, ...]
    log: str


class ForkScript(msgspec.Struct, frozen=True, tag=True):
    """Fork a rank that runs a job's script.

    Attached are descriptors of its stdout and stderr, and those of `environment_variables.FILES`. Texts are
    bytes, as the kernel passes them: names of files and variables need not be Unicode.
    """

    rank: int
    arguments: tuple[bytes, ...]
    environment: tuple[tuple[bytes, bytes], ...]
    """All its variables."""
    folder: bytes
    """Its current folder."""


class Kill(msgspec.Struct, frozen=True, tag=True):
    """Send a signal to processes."""

    keys: tuple[int, ...]
    number: int


class HandOverChannel(msgspec.Struct, frozen=True, tag=True):
    """Outlive this agent, because another agent takes over the channel; answered with `Loaded`."""


Order = ForkRank | ForkController | ForkScript | Kill | HandOverChannel


class Loaded(msgspec.Struct, frozen=True, tag=True):
    """All modules are imported, or `error`. `on_gpus`: this build of torch can use GPUs of some kind."""

    seconds: float = 0.0
    torch: str = ""
    on_gpus: bool = False
    error: str = ""


class ProcessForked(msgspec.Struct, frozen=True, tag=True):
    """A process was forked."""

    key: int
    """Its rank, or `links.CONTROLLER`."""
    pid: int


class ProcessExited(msgspec.Struct, frozen=True, tag=True):
    """A process ended."""

    key: int
    pid: int
    code: int
    last: str
    how: str = ""
    """Message on why the process could not be forked."""


News = Loaded | ProcessForked | ProcessExited
encode = msgspec.msgpack.Encoder().encode
decode_order = decode.decoder(Order, "The node agent")
decode_news = decode.decoder(News, "The fork server")
