"""Where the head of a world on other machines listens, and with which keys."""

from __future__ import annotations

from msgspec import Struct


class Keys(Struct, frozen=True):
    """CURVE keys of a world, Z85. Whoever is to be let in has the client's pair; the head holds its own."""

    server: str
    client: str
    client_secret: str


class Endpoints(Struct, frozen=True):
    """Written by the head once it listens, into a file that only its user reads.

    `link` and `door` are TCP URLs, one for each address that another node could use; `directory` holds the
    unix sockets of the same names on the head's own node.
    """

    id: str
    host: str
    python: str
    pid: int
    started: float
    directory: str
    link: tuple[str, ...]
    door: tuple[str, ...]
    keys: Keys
    variables: dict[str, str] = {}
    """The profile's, for the ranks."""
