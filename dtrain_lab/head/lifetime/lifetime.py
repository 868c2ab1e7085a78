"""When a world ends by itself: leases, scheduler limit, idle time; and when its key file is removed."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from functools import partial
from typing import Protocol

from dtrain_lab.head import listen
from dtrain_lab.head.cells.cells import Cells
from dtrain_lab.head.lifetime.leases import Leases
from dtrain_lab.head.lifetime.time_limit import Limit
from dtrain_lab.head.membership import Membership
from dtrain_lab.head.metrics.snapshot import Snapshot
from dtrain_lab.machine import supervision
from dtrain_lab.wire.endings import Ending
from dtrain_lab.wire.processes.settings import HeadSettings

REASON_WITHIN_S = 2.0


class Stop(Protocol):
    """Ends the world."""

    def __call__(self, why: str = "", ending: Ending | None = None) -> None:
        """End the world for a reason, or as somebody has asked for it."""


OVER = ("stopped", "failed")


WARM_S = 15.0
"""Adoption time of a warm head, seconds: the client that has started it takes a lease within one."""


class Lifetime:
    """Decides when a world ends by itself.

    Args:
        settings: Settings of the head.
        membership: State of the world.
        cells: Cells of the world, which is not idle while one runs or waits.
        snapshot: Knows since when the world is idle.
        stop: Ends the world, with a reason for people to read.
    """

    def __init__(
        self,
        settings: HeadSettings,
        membership: Membership,
        cells: Cells,
        snapshot: Snapshot,
        stop: Stop,
    ) -> None:
        self._remote = settings.remote
        self._membership = membership
        self._cells = cells
        self._snapshot = snapshot
        self._stop = stop
        self.limit = Limit()
        # a world on other machines lives until it is stopped, idle, or its allocation ends
        over: Callable[[], None] = self._over if settings.remote is None else _nothing
        self.leases = Leases(over, partial(adoption_s, settings, snapshot))
        self._joined = self._reached = False

    @property
    def ends_at(self) -> float | None:
        """When the world ends without further action, seconds since 1970; None if it needs a stop."""
        idle, since = self._idle_left_s, self._snapshot.idle_since
        by_idleness = since + self._remote.idle_s if idle is not None and since and self._remote else None
        return min((at for at in (by_idleness, self.limit.at) if at is not None), default=None)

    @property
    def _idle_left_s(self) -> float | None:
        """Remaining seconds of allowed idle time; None if idleness does not end the world now."""
        if self._remote is None or self._cells.busy or self._membership.state.phase != "ready":
            return None
        return self._remote.idle_s - self._snapshot.idle_s

    def _over(self) -> None:
        """Stop a world that nobody holds."""
        with_server = self.leases.ended_with_server
        self._stop("", Ending("shutdown", at=time.time()) if with_server else None)

    def check_idle(self) -> None:
        """Stop a world on other machines that has been idle for too long."""
        left_s = self._idle_left_s
        if left_s is not None and left_s < 0:
            self._stop("", Ending("idle", at=time.time(), idle_s=self._snapshot.idle_s))

    def end_by_signal(self) -> None:
        """End after a signal of the scheduler or of a person, with the scheduler's reason if it gave one."""
        supervision.here().once("head.end", self._end_with_reason(), lambda _: self._stop(""))

    async def _end_with_reason(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(REASON_WITHIN_S):
                await self.limit.poll()
        self._stop(self.limit.taken)

    def all_joined(self) -> None:
        """All agents have joined: the key file is needed only until a client has read it."""
        self._joined = True
        self._hide_keys()

    def reached(self) -> None:
        """A client has connected to the head."""
        if not self._reached:
            self._reached = True
            self._hide_keys()

    def over(self) -> None:
        """The world has ended: its keys are no longer needed."""
        self._joined = self._reached = True
        self._hide_keys()

    def _hide_keys(self) -> None:
        if self._remote is not None and self._joined and self._reached:
            listen.forget_keys(self._remote.endpoints)


def _nothing() -> None:
    """Do nothing when the last lease ends."""


def adoption_s(settings: HeadSettings, snapshot: Snapshot) -> float:
    """Return the seconds for which a head without a holder waits to be adopted.

    Short for a warm head: it has nothing to lose, and only a start that claims it would adopt it.

    Args:
        settings: The head's settings, with the usual time.
        snapshot: Tells whether the head is warm: its name is then still the head's own id.
    """
    return settings.adoption_s if snapshot.name != settings.id else min(settings.adoption_s, WARM_S)
