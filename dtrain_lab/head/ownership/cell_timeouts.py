"""Cells that the head ends by itself: at their time-out, in a hang, or because their ranks are lost."""

from __future__ import annotations

import asyncio
from typing import Protocol

from dtrain_lab.head.cells.cells import Cells
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.metrics.verdicts import Verdict
from dtrain_lab.wire.plan import Plan
from dtrain_lab.world import State
from dtrain_lab.world import events as on
from dtrain_lab.world.events import Event

PAUSED_S = 1.0
"""Seconds between checks whether ranks are still paused, when a cell's time-out is due."""


class TimeoutsWorld(Protocol):
    """What `CellTimeouts` needs of a world."""

    @property
    def plan(self) -> Plan | None:
        """Plan of the world, once it has one."""

    def cluster(self) -> Cluster:
        """Current snapshot of the world."""

    def paused(self) -> bool:
        """Whether a debugger holds ranks."""

    def happened(self, event: Event) -> None:
        """Feed an event to the state machine."""


class CellTimeouts:
    """Ends cells that could not end by themselves, or not in time.

    Args:
        world: The owned world.
        cells: Cells of the world.
    """

    def __init__(self, world: TimeoutsWorld, cells: Cells) -> None:
        self._world = world
        self._cells = cells

    def began(self, cell: str) -> None:
        """Start the time-out of a cell that has begun, if it has one."""
        running = self._cells.get(cell)
        if running is not None and running.order.timeout_s is not None:
            loop = asyncio.get_running_loop()
            loop.call_later(running.order.timeout_s, self._timed_out, cell)

    def check_hang(self, stuck: Verdict) -> None:
        """Interrupt the cells of a hang if no action in a notebook could resolve it, or the plan says so."""
        plan = self._world.plan
        if stuck.code == "not_in_cell":
            self._interrupt(stuck, stuck.peers)
        if stuck.alarm and plan is not None and plan.watch.on_hang == "interrupt":
            self._interrupt(stuck, (*stuck.ranks, *stuck.peers))

    def withdraw_blocked(self, queued: list[str], state: State) -> None:
        """Remove queued cells that can't run: their ranks are lost or unresponsive, or there is no group.

        Args:
            queued: Ids of the queued cells.
            state: State of the world.
        """
        ranks = {n: c.ranks for n in queued if (c := self._cells.get(n))}
        blocked = [n for n, of in ranks.items() if state.blocked(of)]
        if blocked and state.reason is not None:
            self._cells.withdraw(blocked, state.reason[1])
        lost = [n for n, of in ranks.items() if n not in blocked and not set(state.lost).isdisjoint(of)]
        if lost:
            self._cells.withdraw(lost, self._world.cluster().summary.text)

    def _interrupt(self, verdict: Verdict, ranks: tuple[int, ...]) -> None:
        for rank in ranks:
            cell = self._cells.of_rank(rank)
            if cell is not None and not cell.hopeless:
                cell.hopeless = verdict.text
                self._world.happened(on.InterruptAsked(tuple(cell.left)))

    def _timed_out(self, cell: str) -> None:
        running = self._cells.get(cell)
        if running is not None and self._world.paused():  # time in the debugger does not count
            asyncio.get_running_loop().call_later(PAUSED_S, self._timed_out, cell)
        elif running is not None:
            running.timed_out = True
            self._world.happened(on.InterruptAsked(tuple(running.left)))
