"""Which nodes reach which: each listens, and the others try to connect."""

from __future__ import annotations

from msgspec import Struct

from dtrain_lab.wire.codec.encode import encode as encode
from dtrain_lab.wire.links.base import Message


class Listening(Message, frozen=True, tag="listening"):
    """Answers `Listen`; `error` says why the node can't listen."""

    node: int
    port: int = 0
    error: str = ""


class Probed(Message, frozen=True, tag="probed"):
    """Answers `Probe`: the nodes that this one can't connect to."""

    node: int
    blocked: tuple[int, ...] = ()


class Listen(Message, frozen=True, tag="listen"):
    """Listen at this address and send this nonce to each connection, until `StopListening`."""

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
    """Try to connect to other nodes."""

    targets: tuple[Target, ...]


class StopListening(Message, frozen=True, tag="hush"):
    """Stop listening: all nodes have probed."""
