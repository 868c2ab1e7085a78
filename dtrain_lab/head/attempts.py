"""Attempts of a job over its hosts: when a rank fails, all ends; when all are done, the agents are told."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from dtrain_lab.core import attempt, jobfiles
from dtrain_lab.core.job import JobError
from dtrain_lab.core.wire import links
from dtrain_lab.head.watched import Watched

Send = Callable[[bytes, links.Message], None]


class Attempts:
    """What the head of a job tells its agents about the ranks of others.

    Args:
        folder: of the job.
        size: ranks in all.
        ranks: those that are known; kept by the head.
        send: to an agent.
    """

    def __init__(self, folder: Path, size: int, ranks: dict[int, Watched], send: Send) -> None:
        self._folder = folder
        self._size = size
        self._ranks = ranks
        self._send = send
        self._failed: set[int] = set()
        """Attempts in which a rank has failed."""
        self._asking: dict[bytes, tuple[int, float]] = {}
        """Agents whose ranks have ended well: in which attempt, and since when they ask for the others."""

    def joined(self, agent: bytes, number: int) -> None:
        """An agent has come; maybe too late to have been told that a rank has failed."""
        if number in self._failed:
            self._send(agent, links.Leave())

    def ended(self, watched: Watched) -> None:
        """A rank has ended: its peers may have to, where they share no folder to see that in."""
        if watched.code:
            self._fail(watched)
        self.look()

    def asked(self, agent: bytes, number: int) -> None:
        """An agent's ranks are done: how does its attempt stand?"""
        self._asking.setdefault(agent, (number, time.monotonic()))
        self._answer(agent, unasked=False)

    def look(self) -> None:
        """Tell those who asked once it is over; hosts that have gone silent are noticed here."""
        for agent in list(self._asking):
            self._answer(agent, unasked=True)

    def _answer(self, agent: bytes, *, unasked: bool) -> None:
        number, since = self._asking[agent]
        ends = {rank: watched.end for rank, watched in self._ranks.items()}
        waited_s = time.monotonic() - since
        stand = attempt.stand(ends, self._size, number, waited_s, failed=number in self._failed)
        for rank in attempt.lost(ends, number):
            self._note_lost(rank)
        if stand != "runs":
            del self._asking[agent]
        elif unasked:
            return
        self._send(agent, links.Attempt(number, stand))

    def _note_lost(self, rank: int) -> None:
        """A host that is gone writes no error itself."""
        watched = self._ranks[rank]
        if watched.restart in self._failed:
            return
        self._fail(watched)
        path = self._folder / jobfiles.error(rank)
        if path.exists():  # it had said why, before its host went
            return
        message = f"was not heard of for {attempt.SILENT_S:.0f} s: {watched.name} is gone"
        told = JobError(rank, None, None, None, "Ended", message, time=time.time(), node=watched.name)
        with contextlib.suppress(OSError):  # a full disk
            path.write_bytes(msgspec.json.encode(told))

    def _fail(self, watched: Watched) -> None:
        self._failed.add(watched.restart)
        for agent in {w.peer for w in self._ranks.values()} - {watched.peer}:
            self._send(agent, links.Leave())
