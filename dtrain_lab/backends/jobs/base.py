"""What a back-end does for jobs."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from dtrain_lab.backends.transport import Transport
from dtrain_lab.core.budget import Budget
from dtrain_lab.core.finding import Finding
from dtrain_lab.core.job import JobRecord
from dtrain_lab.core.profile import Profile
from dtrain_lab.core.record import Handle
from dtrain_lab.core.slots import NodeSlots
from dtrain_lab.core.status import Status

ASK_WITHIN_S = 10.0
"""A host is asked for its part of a look at a job for so long."""


class Place(NamedTuple):
    """A folder of a job, and the way to it. `nodes`: whose logs lie there."""

    transport: Transport
    nodes: tuple[int, ...]


class Forecast(NamedTuple):
    """What a scheduler says of a job before it is submitted.

    `starts_at`: seconds since 1970. `refused`: why it would not be taken.
    """

    starts_at: float | None = None
    refused: Finding | None = None
    budget: Budget | None = None


class JobBackend(Protocol):
    """Runs the scripts of jobs."""

    name: str

    async def base(self, record_workdir: str | None, record: JobRecord | None = None) -> str:
        """Folder that jobs' folders lie in."""

    def scripts(self, record: JobRecord) -> dict[str, str]:
        """The scripts of a job, by file name; the first is the one that is run. Pure."""

    def command(self, record: JobRecord) -> str:
        """The command that runs it, as a person would type it."""

    async def forecast(self, record: JobRecord) -> Forecast:
        """Ask the scheduler, without submitting."""

    async def submit(self, record: JobRecord, files: dict[str, bytes]) -> Handle:
        """Write its folder, and have it run.

        Raises:
            StartFailed: it is refused; nothing is left.
            Unreachable, SignInNeeded: a host can't be asked, or the folder not written.
        """

    async def status(self, record: JobRecord) -> Status:
        """Does it run? Of a job that has a handle."""

    async def find(self, record: JobRecord) -> Handle | None:
        """A job whose submission was cut off, by its id; None where it was never taken."""

    async def cancel(self, record: JobRecord) -> None:
        """End it, on all nodes."""

    async def slots(self, profile: Profile) -> tuple[NodeSlots, ...]:
        """Who holds the slots of its machines, and who waits.

        Raises:
            BadRequest: a scheduler gives them.
        """

    async def stop(self, profile: Profile, identity: str) -> None:
        """End a process of this user's on a GPU of its machines that is neither a cluster's nor a job's.

        Raises:
            BadRequest: a scheduler gives them.
            NotFound: no such process holds a slot.
            Forbidden: it is not this user's, or a cluster's or job's.
        """

    def places(self, record: JobRecord) -> list[Place]:
        """Where its folder lies; the first has the record."""
