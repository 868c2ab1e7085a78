"""The back-end contract, the same for clusters and jobs.

A back-end is a class that an entry point of the group in `registry` names. It is instantiated without
arguments, once per process. Behaviour that most back-ends share is implemented here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from dtrain_lab.backends.answers import HeadAddress, Place, StartForecast
from dtrain_lab.backends.hosts.base import Transport
from dtrain_lab.backends.hosts.local_transport import LocalTransport
from dtrain_lab.backends.profile_settings import ProfileSettings
from dtrain_lab.errors import BadRequest
from dtrain_lab.placement.slots.slots import NodeSlots
from dtrain_lab.wire.node_check import Between, Check
from dtrain_lab.wire.plan import Facts, Plan, Request
from dtrain_lab.wire.processes.endpoints import Endpoints
from dtrain_lab.wire.processes.head_record import Handle
from dtrain_lab.wire.processes.submission import Submission
from dtrain_lab.wire.profile import Profile
from dtrain_lab.wire.status import Status

__all__ = [
    "ASK_WITHIN_S",
    "Backend",
    "Handle",
    "HeadAddress",
    "Place",
    "StartForecast",
    "Status",
    "Submission",
]

UNSURE = "maybe_submitted"
"""Code of an error after which the scheduler may nevertheless have accepted the submission."""
ASK_WITHIN_S = 10.0
"""Timeout for each host when a job's state is read."""
PIECE = 64 << 10


class Backend(ProfileSettings, ABC):
    """Runs processes on nodes, and reports whether they still run."""

    name: str
    poll_floor_s: Callable[[], float] = staticmethod(lambda: 30.0)
    """Returns the minimum seconds between two queries of a scheduler; `services.policy.backends` sets it."""

    # ---- before a start

    @abstractmethod
    async def facts(self, profile: Profile) -> Facts:
        """Return the resources of a profile's nodes.

        Raises:
            Unreachable, SignInNeeded: A host can't be asked.
            EnvironmentUnfit: Ranks can't run there.
        """

    @abstractmethod
    def plan(self, facts: Facts, profile: Profile, request: Request, *, python: str, directory: str) -> Plan:
        """Turn a request into a plan, with the traits of this back-end. Pure.

        Args:
            facts: From `facts`.
            profile: The profile.
            request: The request.
            python: Path of the interpreter.
            directory: Working directory of the ranks.

        Raises:
            BadSize: The request can never run.
        """

    @abstractmethod
    def scripts(self, submission: Submission) -> dict[str, str]:
        """Return the scripts of a submission, by file name; the first is the one to run. Pure."""

    @abstractmethod
    def command(self, submission: Submission) -> str:
        """Return the command that runs the submission by hand. Pure."""

    # ---- a submission

    @abstractmethod
    async def submit(self, submission: Submission, files: Mapping[str, bytes]) -> Handle:
        """Write the submission's folder, and start it: the head of a cluster, or the scripts of a job.

        Args:
            submission: A submission without a handle; services have chosen its folder.
            files: Files of the folder, by relative path, its scripts included; none for a cluster whose head
                gets its settings on standard input.

        Raises:
            EnvironmentUnfit: The interpreter can't be run.
            StartFailed: The scheduler or a node refuses; nothing is left behind.
            Unreachable, SignInNeeded: A host can't be asked, or the folder can't be written. With the code
                `UNSURE`, the submission may have been accepted, and `find` will know.
        """

    @abstractmethod
    async def status(self, submission: Submission) -> Status:
        """Return whether a submission with a handle runs.

        Raises:
            DtrainError: The status can't be asked for.
        """

    @abstractmethod
    async def cancel(self, submission: Submission) -> None:
        """End a submission with all processes that it owns, on all nodes, unless it has ended.

        Raises:
            NotFound: It is not known there any more.
            DtrainError: It is unknown whether it ends.
        """

    @abstractmethod
    async def find(self, submission: Submission) -> Handle | None:
        """Find a submission that was interrupted, by its id and folder; None if it does not run.

        A cluster has no folder if its nodes share none: its head has chosen one, by the cluster's id.

        Raises:
            DtrainError: The back-end can't be asked.
        """

    async def find_recent(self, submission: Submission) -> Handle | None:
        """Find a submission as `find` does, for a check that a user's next keystroke repeats.

        A back-end with a scheduler answers from what it knows of its queue, which may be half a minute old.
        """
        return await self.find(submission)

    @abstractmethod
    async def reach(self, submission: Submission, endpoints: Endpoints | None, port: str = "") -> HeadAddress:
        """Return an address that leads to the head's client socket, or to a port of the head's node.

        Args:
            submission: A submission with a handle.
            endpoints: Endpoints of its head; None for a head on this machine.
            port: "address:port" on the head's node; empty for the client socket.

        Raises:
            Unreachable: The head's node can't be reached.
        """

    @abstractmethod
    def files(self, submission: Submission) -> list[Place]:
        """Return the locations of the submission's folder; the first contains the record."""

    async def log(self, submission: Submission, file: str, offset: int) -> bytes:
        """Read a piece of a log.

        Args:
            submission: A submission with a handle.
            file: "head" or "launcher".
            offset: Offset in bytes.

        Returns:
            At most 64 KiB; empty if there is no such log yet.

        Raises:
            BadRequest: This is not the name of a log.
            Unreachable, SignInNeeded: The folder can't be read.
        """
        if "/" in file:
            raise BadRequest(f'"{file}" is not the name of a log.', "Read head or launcher.")
        folder = submission.handle.directory if submission.handle is not None else submission.directory
        transport = self.files(submission)[0].transport
        return await transport.read(f"{folder}/{file}.log", offset, PIECE) or b""

    # ---- optional

    def roots(self, profile: Profile) -> list[Transport]:
        """Return transports to all machines that have folders of the profile's jobs."""
        return [LocalTransport()]

    async def root(self, profile: Profile) -> str:
        """Return the absolute path of dtrain-lab's folder on the first of them; it contains "jobs"."""
        base = profile.workdir or ".dtrain-lab"
        return base if base.startswith("/") else f"{await self.roots(profile)[0].home()}/{base}"

    async def forecast(self, submission: Submission) -> StartForecast:
        """Ask the scheduler for a forecast, without submitting."""
        return StartForecast()

    async def checks(self, profile: Profile, python: str) -> dict[str, Check]:
        """Check each node of a profile on the node itself, without starting a world.

        Args:
            profile: The profile.
            python: Path of the interpreter.

        Returns:
            Check of each node, by the node's name.

        Raises:
            Unreachable, SignInNeeded: A node can't be asked.
            EnvironmentUnfit: Python or dtrain-lab is missing; the message names the node.
        """
        return {}

    async def speed(self, profile: Profile, python: str, checks: dict[str, Check]) -> Between | None:
        """Measure the network speed between two of the nodes; None if there is only one node.

        Args:
            profile: The profile.
            python: Path of the interpreter.
            checks: Result of `checks`.

        Raises:
            StartFailed: The nodes can't connect to each other.
        """
        return None

    async def slots(self, profile: Profile) -> tuple[NodeSlots, ...]:
        """Return the slots of the profile's machines, with their holders and those that wait for one.

        Raises:
            BadRequest: A scheduler allocates the slots.
        """
        raise self._scheduled(profile)

    async def stop(self, profile: Profile, identity: str) -> None:
        """End one of this user's GPU processes on the profile's machines, not of a cluster or job.

        Args:
            profile: The profile.
            identity: Id of the process, from `slots`.

        Raises:
            BadRequest: A scheduler allocates the slots.
            NotFound: No such process holds a slot.
            Forbidden: The process is another user's, or belongs to a cluster or job.
        """
        raise self._scheduled(profile)

    def _scheduled(self, profile: Profile) -> BadRequest:
        return BadRequest(
            f'A scheduler assigns the slots of the profile "{profile.name}".',
            "Ask the scheduler which jobs hold them.",
        )
