"""Endpoints of a remote world's head: addresses and CURVE keys."""

from __future__ import annotations

from msgspec import Struct

from dtrain_lab.wire.codec import lenient


class Keys(Struct, frozen=True):
    """CURVE keys of a world, in Z85.

    Every permitted peer has the client's key pair; the head's secret key stays with the head.
    """

    server: str
    client: str
    client_secret: str


class Endpoints(Struct, frozen=True):
    """Where a head listens; the head writes this to a file that only its user can read.

    `link` and `client` are TCP URLs, one for each address that another node could use; `directory` holds the
    unix sockets of the same names, on the head's own node.
    """

    id: str
    host: str
    python: str
    pid: int
    started: float
    directory: str
    link: tuple[str, ...]
    client: tuple[str, ...]
    keys: Keys
    variables: dict[str, str] = {}
    """The profile's environment variables for the ranks."""


def decode(data: bytes) -> Endpoints:
    """Decode the endpoints that a head has written, perhaps one of a newer version.

    Raises:
        msgspec.DecodeError: They can't be read.
    """
    return lenient.decode(data, Endpoints)
