"""The contract of every back-end, for clusters and jobs alike."""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct

from dtrain_lab.core.endpoints import Endpoints, Keys
from dtrain_lab.core.fitness import Check
from dtrain_lab.core.network import Between
from dtrain_lab.core.plan import Facts, Plan, Request
from dtrain_lab.core.profile import Profile
from dtrain_lab.core.record import Handle
from dtrain_lab.core.status import Status

__all__ = ["Backend", "Handle", "Status", "Submission", "Way"]


class Submission(Struct, frozen=True):
    """A head to be started, with the world that it is for.

    `settings` are the head's (`head.settings`) as builtins; they may hold secrets and travel by stdin or a
    0600 file. `directory`: node-local, of a head on this machine. `variables`: environment of head, agents
    and ranks on this machine; elsewhere the plan's are set in the node's own.
    """

    id: str
    name: str
    plan: Plan
    profile: Profile
    settings: dict[str, Any]
    directory: str
    variables: dict[str, str] = {}


class Way(Struct, frozen=True):
    """A way to a head's door: a ZeroMQ URL, with keys where it is TCP."""

    url: str
    keys: Keys | None = None


class Backend(Protocol):
    """Runs processes on nodes, and learns of their fate."""

    name: str

    async def facts(self, profile: Profile) -> Facts:
        """What the nodes of a profile have.

        Raises:
            Unreachable, SignInNeeded: a host can't be asked.
            EnvironmentUnfit: ranks can't run there.
        """

    async def checks(self, profile: Profile, python: str) -> dict[str, Check]:
        """What each node of a profile has, asked on the node itself; no world is started.

        Raises:
            Unreachable, SignInNeeded: a node can't be asked.
            EnvironmentUnfit: Python or dtrain-lab is not there; the message names the node.
        """

    async def speed(self, profile: Profile, python: str, checks: dict[str, Check]) -> Between | None:
        """How fast two of the nodes reach each other; None where there is one node only.

        Raises:
            StartFailed: they do not.
        """

    def plan(self, facts: Facts, profile: Profile, request: Request, *, python: str, directory: str) -> Plan:
        """Turn a request into a plan. Pure.

        Raises:
            BadSize: the request can never run.
        """

    async def submit(self, submission: Submission) -> Handle:
        """Start a head.

        Raises:
            EnvironmentUnfit: the interpreter can't be run.
            StartFailed: the scheduler, or a node, refuses.
        """

    async def endpoints(self, profile: Profile, handle: Handle) -> Endpoints | None:
        """Where the head listens; None while it does not. Only for heads on other machines."""

    async def status(self, profile: Profile, handle: Handle) -> Status:
        """Does it run?"""

    async def cancel(self, profile: Profile, handle: Handle) -> None:
        """End it, and with it all that it owns."""

    async def log(self, profile: Profile, handle: Handle, file: str, offset: int) -> bytes:
        """A piece of one of its logs ("head", "node.0", "rank.3"), at most 64 KiB, from a byte offset."""

    async def find(self, profile: Profile, identity: str, directory: str) -> Handle | None:
        """Something that was submitted before, by the id it was given."""

    async def reach(self, profile: Profile, handle: Handle, endpoints: Endpoints | None) -> Way:
        """A way to its head's door.

        Raises:
            Unreachable: there is none.
        """

    async def forward(
        self, profile: Profile, handle: Handle, endpoints: Endpoints, address: str, port: int
    ) -> tuple[str, int]:
        """An address and port of this machine, or beyond it, that lead to one of the head's node."""
