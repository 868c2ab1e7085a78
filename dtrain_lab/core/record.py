"""The record by which a running head is found: one small JSON file in a folder that only its user reads."""

from __future__ import annotations

from msgspec import Struct


class HeadRecord(Struct, frozen=True):
    """A running head.

    `warm`: it has no ranks yet and can be claimed. `environment`: key of what its ranks would run in.
    `server`: pid of the Jupyter server whose kernel or panel started it, so that the server can hold it.
    """

    id: str
    name: str
    host: str
    boot: str
    pid: int
    started: float
    socket: str
    directory: str
    environment: str
    warm: bool
    created_at: float
    version: int
    server: int | None = None
