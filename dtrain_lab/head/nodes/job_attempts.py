"""Attempts of a job: one failed rank ends the attempt; agents are told once all ranks are done."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from dtrain_lab.jobs import attempt
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.jobs.attempt import RankReport
from dtrain_lab.wire import links
from dtrain_lab.wire.jobs import rank_ends
from dtrain_lab.wire.jobs.job import JobError

Send = Callable[[bytes, links.Message], None]


@dataclass
class WatchedRank:
    """A rank, as its agent reports it."""

    name: str
    """Name of the rank's node."""
    attempt: int
    pid: int
    peer: bytes
    """The agent's name on the link."""
    reported_at: float = field(default_factory=time.monotonic)
    """When the agent last reported; monotonic seconds."""
    code: int | None = None

    @property
    def end(self) -> RankReport:
        """The rank's outcome, by which its attempt is judged."""
        return RankReport(self.attempt, self.code, time.monotonic() - self.reported_at)


class Attempts:
    """Tells a job's agents how the ranks on other nodes are doing.

    Args:
        folder: The job's folder.
        size: Number of ranks in the job.
        send: Sends a message to an agent.
        serving: Ranks that only serve others, and never end by themselves.
    """

    def __init__(self, folder: Path, size: int, send: Send, serving: frozenset[int] = frozenset()) -> None:
        self._folder = folder
        self._size = size
        self._send = send
        self._serving = serving
        self._ranks: dict[int, WatchedRank] = {}
        self._failed: set[int] = set()
        """Attempts in which a rank has failed."""
        self._asking: dict[bytes, tuple[int, float]] = {}
        """Agent whose ranks all succeeded → the attempt, and since when it asks about the others."""

    def joined(self, agent: bytes, launched: links.RanksLaunched) -> None:
        """An agent has connected; it may have missed the message that a rank of its attempt failed.

        Args:
            agent: Socket identity of the agent.
            launched: Its message: the node, the attempt and the ranks that it has started.
        """
        for rank, _, pid in launched.ranks:
            self._ranks[rank] = WatchedRank(launched.name, launched.attempt, pid, agent)
        if launched.attempt in self._failed:
            self._send(agent, links.LeaveWorld())

    def note_alive(self, rank: int) -> None:
        """The agent of a rank has sent its periodic report."""
        if rank in self._ranks:
            self._ranks[rank].reported_at = time.monotonic()

    def ended(self, rank: int, pid: int, code: int) -> bool:
        """A rank has ended. On failure its peers are ended too: without a shared folder they can't see it.

        Args:
            rank: Number of the rank.
            pid: Its process.
            code: Exit code; negative is the number of the signal that ended it.

        Returns:
            Whether it was the rank's current process, not one of an earlier attempt.
        """
        watched = self._ranks.get(rank)
        if watched is None or watched.pid != pid:
            return False
        watched.code = code
        if code:
            self._fail(watched)
        self.check()
        return True

    def asked(self, agent: bytes, number: int) -> None:
        """An agent's ranks are done, and it asks for the state of an attempt.

        Args:
            agent: The agent's name on the link.
            number: Number of the attempt, counted from 0.
        """
        self._asking.setdefault(agent, (number, time.monotonic()))
        self._answer(agent, unasked=False)

    def check(self) -> None:
        """Answer waiting agents whose attempt is over; nodes that have gone silent are detected here."""
        for agent in list(self._asking):
            self._answer(agent, unasked=True)

    def _answer(self, agent: bytes, *, unasked: bool) -> None:
        number, since = self._asking[agent]
        ends = {rank: watched.end for rank, watched in self._ranks.items()}
        waited_s = time.monotonic() - since
        failed = number in self._failed
        state = attempt.attempt_state(
            ends, self._size, number, waited_s, failed=failed, serving=self._serving
        )
        for rank in attempt.lost(ends, number):
            self._note_lost(rank)
        if state != "runs":
            del self._asking[agent]
        elif unasked:
            return
        self._send(agent, links.Attempt(number, state))

    def _note_lost(self, rank: int) -> None:
        """Record the error of a rank whose node is gone and can't write it itself."""
        watched = self._ranks[rank]
        if watched.attempt in self._failed:
            return
        self._fail(watched)
        path = self._folder / job_files.error(rank)
        if path.exists():  # the rank has written an error of its own
            return
        message = f"was not heard from for {attempt.SILENT_S:.0f} s: {watched.name} is gone"
        error = JobError(
            rank, None, None, None, rank_ends.ENDED, message, time=time.time(), node=watched.name
        )
        with contextlib.suppress(OSError):  # as on a full disk
            path.write_bytes(msgspec.json.encode(error))

    def _fail(self, watched: WatchedRank) -> None:
        self._failed.add(watched.attempt)
        for agent in {w.peer for w in self._ranks.values()} - {watched.peer}:
            self._send(agent, links.LeaveWorld())
