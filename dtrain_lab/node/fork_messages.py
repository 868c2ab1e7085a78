"""Messages between a node agent and its fork server."""

from __future__ import annotations

import msgspec

from dtrain_lab.wire.codec import decode
from dtrain_lab.wire.links import RankSpec

MESSAGE = 1 << 20
NO_PROCESS = -1
"""Process id of a process that could not be forked."""


class ForkRank(msgspec.Struct, frozen=True, tag=True):
    """Fork a rank; descriptors of its metrics ring, output buffer, fault file and two pipes are attached."""

    spec: RankSpec


class ForkController(msgspec.Struct, frozen=True, tag=True):
    """Fork the ipyparallel controller."""

    arguments: tuple[str, ...]
    log: str


class Kill(msgspec.Struct, frozen=True, tag=True):
    """Send a signal to processes."""

    keys: tuple[int, ...]
    number: int


class HandOverChannel(msgspec.Struct, frozen=True, tag=True):
    """Outlive this agent, because another agent takes over the channel; answered with `Loaded`."""


Order = ForkRank | ForkController | Kill | HandOverChannel


class Loaded(msgspec.Struct, frozen=True, tag=True):
    """All modules are imported, or `error`. `on_gpus`: this build of torch can use GPUs of some kind."""

    seconds: float = 0.0
    torch: str = ""
    on_gpus: bool = False
    error: str = ""


class ProcessForked(msgspec.Struct, frozen=True, tag=True):
    """A process was forked."""

    key: int
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
