"""The contract of every back-end."""

from __future__ import annotations

from typing import Literal, Protocol

from msgspec import Struct

from dtrain_lab.core.plan import NodeFacts, Plan, Request
from dtrain_lab.core.profile import Profile


class Submission(Struct, frozen=True):
    """A head to be started. `settings` (JSON) may hold secrets: it travels by stdin or a 0600 file."""

    id: str
    python: str
    directory: str
    settings: bytes
    variables: dict[str, str] = {}


class Handle(Struct, frozen=True):
    """What was started, so that another process can ask for it later."""

    id: str
    host: str
    pid: int
    started: float
    directory: str


Fate = Literal["running", "ended"]


class Backend(Protocol):
    """Runs processes on nodes, and learns of their fate."""

    name: str

    async def facts(self) -> NodeFacts:
        """What a node of this back-end has."""

    def plan(
        self, facts: NodeFacts, profile: Profile, request: Request, *, python: str, directory: str
    ) -> Plan:
        """Turn a request into a plan. Pure.

        Raises:
            BadSize: the request can never run.
        """

    async def submit(self, submission: Submission) -> Handle:
        """Start a head.

        Raises:
            EnvironmentUnfit: the interpreter can't be run.
        """

    async def status(self, handle: Handle) -> Fate:
        """Does it run?"""

    async def cancel(self, handle: Handle) -> None:
        """End it, and with it all that it owns."""

    async def log(self, handle: Handle, file: str, offset: int) -> bytes:
        """A piece of one of its logs ("head", "node.0", "rank.3"), at most 64 KiB, from a byte offset."""

    async def find(self, identity: str, directory: str) -> Handle | None:
        """Something that was submitted before, by the id it was given."""

    def reach(self, handle: Handle) -> str:
        """Path of the unix socket that leads to its head."""
