"""Carries out what the membership state machine orders: on ranks, and on their cells."""

from __future__ import annotations

import signal
from typing import Protocol

from dtrain_lab.head.cells.cells import Cells
from dtrain_lab.head.debug_broker import DebugBroker
from dtrain_lab.head.metrics.collector import MetricsCollector
from dtrain_lab.head.ownership.rank_routes import RankRoutes
from dtrain_lab.head.ownership.ranks import Ranks
from dtrain_lab.machine import supervision
from dtrain_lab.wire import links
from dtrain_lab.wire.endings import Ending
from dtrain_lab.wire.plan import Plan


class ExecutorWorld(Protocol):
    """What `Executor` needs of a world."""

    ranks: Ranks

    @property
    def living_plan(self) -> Plan:
        """Plan by which ranks are found; while the world shrinks, the ending ones are in it, too."""

    def end(self) -> None:
        """End the world."""


class Executor:
    """Implements `membership.Executor` for ranks that the head owns.

    Args:
        world: The owned world.
        cells: Cells of the world.
        routes: Connections to the ranks.
        collector: Knows whether ranks are paused.
        debugger: Lets paused ranks continue.
    """

    def __init__(
        self,
        world: ExecutorWorld,
        cells: Cells,
        routes: RankRoutes,
        collector: MetricsCollector,
        debugger: DebugBroker,
    ) -> None:
        self._world = world
        self._cells = cells
        self._routes, self._collector, self._debugger = routes, collector, debugger

    def fork(self, ranks: tuple[int, ...]) -> None:
        """Fork processes for ranks."""
        self._world.ranks.fork(ranks)

    def form(self, generation: int, joining: tuple[int, ...]) -> None:
        """Tell all ranks to form the process group of a generation."""
        self._world.ranks.form(generation, joining)

    def signal(self, ranks: tuple[int, ...], number: int) -> None:
        """Send a signal to ranks."""
        if number == signal.SIGINT and self._debugger.stops(ranks):
            supervision.here().once("head.action", self._release_and_interrupt(ranks))
        else:
            self._world.ranks.signal(self._world.living_plan, ranks, number)

    async def _release_and_interrupt(self, ranks: tuple[int, ...]) -> None:
        """A rank at a breakpoint would miss the interrupt (Python 3.12 and newer), so release it first."""
        await self._debugger.release(ranks)
        self._world.ranks.signal(self._world.living_plan, ranks, signal.SIGINT)

    def end_ranks(self, ranks: tuple[int, ...]) -> None:
        """Tell ranks to exit by themselves."""
        for rank in ranks:
            self._routes.to_rank(rank, links.End())

    def abort(self, ranks: tuple[int, ...], hooks: bool) -> None:
        """Abort the collectives that ranks wait in, and with `hooks` what backward runs in other threads."""
        self._world.ranks.abort(ranks, hooks)

    def fail_cell(self, rank: int, message: str, *, stopped: bool, ending: Ending | None) -> None:
        """Fail the cell of a rank that will never reply."""
        self._cells.lose(rank, message, stopped=stopped, ending=ending)

    def give_up(self, ranks: tuple[int, ...]) -> None:
        """End the cells of unresponsive ranks without them."""
        self._cells.give_up(ranks)

    def end(self) -> None:
        """End the world."""
        self._world.end()

    def paused(self) -> bool:
        """Whether a debugger holds ranks."""
        return bool(self._collector.paused)
