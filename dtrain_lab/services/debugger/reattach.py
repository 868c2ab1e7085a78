"""Reattaches to ranks that were released or replaced between cells; forgets those that were taken away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from dtrain_lab.debugger.state import JobCode, State
from dtrain_lab.errors import DtrainError
from dtrain_lab.machine import supervision
from dtrain_lab.services.connection import Connection
from dtrain_lab.services.debugger.debug_session import DebugSession
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster

POLL_S = 1.0
AFTER_LOSS_POLL_S = 0.5
"""The same while a rank is lost: it is about to be replaced, or the cluster goes on without it."""
PATIENT_POLLS = 5
"""Number of polls after which a busy rank is attached, too: the interrupt that released it is over."""


class Reattach:
    """Keeps a debugger attached to ranks that come between two cells; the start of a cell attaches them, too.

    Args:
        debugging: The debugger.
        connection: Connection to the world's head.
        job: Names of a job's cells; None for a cluster.
        began: Called with ranks that were attached.
        over: Called when the debugger no longer holds the world.
    """

    def __init__(
        self,
        debugging: DebugSession,
        connection: Connection,
        job: JobCode | None,
        began: Callable[[Sequence[int]], None],
        over: Callable[[], None],
    ) -> None:
        self._debugging = debugging
        self._connection = connection
        self._job = job
        self._began = began
        self._over = over
        self._polls = 0

    def start(self) -> supervision.BackgroundTask:
        """Poll every second, until the debugger is released or the returned task is cancelled."""
        return supervision.here().start_loop("debug.again", self._poll)

    async def _poll(self) -> None:
        while self._holds:
            lost = any(rank.phase == "gone" for rank in self._debugging.state.ranks)
            await asyncio.sleep(AFTER_LOSS_POLL_S if lost else POLL_S)
            try:
                await self._attach_new_ranks()
            except DtrainError:  # the world is changing, or has ended
                continue
        self._over()

    @property
    def _holds(self) -> bool:
        return self._debugging.holds is self._connection and not self._connection.closed

    async def _attach_new_ranks(self) -> None:
        cluster: Cluster = await self._connection.ask(clients.Info())
        if not self._holds:  # released meanwhile: no rank may be attached again
            return
        self._debugging.resized(cluster.world.size)
        before = self._debugging.state
        if not lacking(before, cluster, patient=self._polls < PATIENT_POLLS):
            self._polls = self._polls + 1 if lacking(before, cluster, patient=False) else 0
            return
        self._polls = 0
        await self._debugging.begin(self._connection, self._job)
        attached = set(self._debugging.state.attached) - set(before.attached)
        self._began(sorted(attached))


def lacking(state: State, cluster: Cluster, *, patient: bool) -> bool:
    """Whether there are ranks to attach.

    Args:
        state: State of the debugger.
        cluster: The world.
        patient: Skip ranks that run a cell: they may be about to be interrupted.
    """
    wanted = ("idle",) if patient else ("idle", "busy", "in collective", "stuck")
    attached = set(state.attached)
    return any(rank.rank not in attached and rank.state in wanted for rank in cluster.ranks)
