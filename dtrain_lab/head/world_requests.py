"""Request handlers for a cluster's world: start, leases, interrupt, restart, resize, stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from dtrain_lab.errors import Conflict
from dtrain_lab.head.cells.cell_requests import chosen
from dtrain_lab.head.cells.cells import Cells
from dtrain_lab.head.debug_broker import DebugBroker
from dtrain_lab.head.lifetime.leases import Leases
from dtrain_lab.head.membership import Membership
from dtrain_lab.head.nodes.nodes import Nodes
from dtrain_lab.head.requests import Handlers
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.endings import Ending
from dtrain_lab.wire.plan import Plan
from dtrain_lab.world import State
from dtrain_lab.world import events as on

RESTARTED_WITHIN_S = 180.0
SETTLED_WITHIN_S = 10.0


class RequestsWorld(Protocol):
    """What `WorldRequests` needs of a world."""

    heir: str
    mark_changed: Callable[[], None]

    @property
    def name(self) -> str:
        """Name of the cluster."""

    @property
    def plan(self) -> Plan | None:
        """Plan of the world, once it has one."""

    @property
    def state(self) -> State:
        """State of the world: its members, and which rank runs which cell."""

    def cluster(self) -> Cluster:
        """Current snapshot of the world."""

    def launch(self, order: clients.Launch) -> None:
        """Start the ranks."""

    def resize(self, plan: Plan) -> None:
        """Make more ranks, or end some."""

    def stop(self, why: str = "", ending: Ending | None = None) -> None:
        """End the world.

        Args:
            why: The reason that running cells report; empty for a client's request.
            ending: Who stops the world; None if unknown.
        """


class WorldRequests:
    """Handles requests to the owner of the ranks.

    Args:
        world: The owned world.
        cells: Cells of the world.
        membership: State of the world.
        leases: Leases that keep the world alive.
        nodes: Nodes of the world.
        debugger: Releases paused ranks before they are interrupted.
    """

    def __init__(
        self,
        world: RequestsWorld,
        cells: Cells,
        membership: Membership,
        leases: Leases,
        nodes: Nodes,
        debugger: DebugBroker,
    ) -> None:
        self._world = world
        self._debugger = debugger
        self._nodes = nodes
        self._cells = cells
        self._membership = membership
        self._leases = leases

    @property
    def handlers(self) -> Handlers:
        """Request type → handler."""
        return {
            clients.Launch: self._launch,
            clients.AcquireLease: self._take_lease,
            clients.Release: self._release,
            clients.Interrupt: self._interrupt,
            clients.Restart: self._restart,
            clients.Resize: self._resize,
            clients.Stop: self._stop,
        }

    async def _launch(self, _: bytes, order: clients.Launch) -> Cluster:
        if self._world.plan is not None:
            raise Conflict("This cluster has been launched already.", "Start another one.", code="claimed")
        # one that has failed already, as it can't import torch, says why to whoever asks for its state
        if self._world.state.phase not in ("pending", "failed"):
            raise Conflict("This cluster can't start ranks any more.", "Start another one.", code="claimed")
        self._world.launch(order)
        return self._world.cluster()

    async def _take_lease(self, _: bytes, order: clients.AcquireLease) -> Cluster:
        if order.detach:
            self._leases.detach(order.lease)
        elif not order.warm or self._world.plan is None:
            self._leases.take(order.lease, attach=order.attach)
        self._world.mark_changed()
        return self._world.cluster()

    async def _release(self, _: bytes, order: clients.Release) -> None:
        self._leases.release(order.lease)
        self._world.mark_changed()

    async def _interrupt(self, _: bytes, order: clients.Interrupt) -> Cluster:
        world = self._world
        if order.cell is not None:
            cell = self._cells.get(order.cell)
            if cell is None:
                return world.cluster()
            self._cells.withdraw([order.cell], "It was interrupted while queued.")
            ranks = tuple(cell.left)
        else:
            ranks = chosen(world.state, order.ranks)
            cells, wanted = self._cells, set(ranks)
            mine = [n for n in cells.queued_ids() if (cell := cells.get(n)) and wanted & set(cell.ranks)]
            cells.withdraw(mine, "It was interrupted while queued.")
        await self._debugger.release(ranks)
        self._membership.happened(on.InterruptAsked(ranks))
        return world.cluster()

    async def _restart(self, _: bytes, order: clients.Restart) -> Cluster:
        world = self._world
        await self._settled()
        if world.state.phase not in ("ready", "degraded"):
            raise Conflict(
                f"{self._world.name} is {world.state.phase}.",
                "Wait until it is ready.",
                code="not_ready",
            )
        ranks = chosen(world.state, order.ranks)
        self._cells.restart(ranks)
        self._membership.happened(on.RestartAsked(ranks))
        return await self._whole_again("restart_failed")

    async def _resize(self, _: bytes, order: clients.Resize) -> Cluster:
        world = self._world
        await self._settled()
        state = world.state
        if state.phase not in ("ready", "degraded") or self._cells.busy or world.plan is None:
            doing = "a cell is running" if self._cells.busy else f"it is {state.phase}"
            raise Conflict(
                f"{self._world.name} can't change its size now: {doing}.",
                "Wait for it, or interrupt it.",
                code="not_ready",
            )
        if len(order.plan.nodes) > self._nodes.count or (
            len(world.plan.nodes) > 1 and order.plan.nodes[0].ranks != world.plan.nodes[0].ranks
        ):
            raise Conflict(
                f"{self._world.name} has {self._nodes.count} nodes of {world.plan.nodes[0].ranks} ranks.",
                "Ask for whole nodes of them, or start another cluster.",
                code="other_nodes",
            )
        if order.plan.collectives != world.plan.collectives:
            raise Conflict(
                f"{order.plan.size} ranks need {order.plan.collectives}, and these use "
                f"{world.plan.collectives}.",
                "Start another cluster of that size.",
                code="other_collectives",
            )
        world.resize(order.plan)
        return await self._whole_again("resize_failed")

    async def _settled(self) -> None:
        """Wait while the group is rebuilt, as after a recent interrupt."""
        try:
            async with asyncio.timeout(SETTLED_WITHIN_S):
                await self._membership.until(lambda s: s.phase != "rebuilding")
        except TimeoutError:  # the caller reports the state
            pass

    async def _whole_again(self, code: str) -> Cluster:
        world = self._world
        wanted = ("ready", "degraded", "failed", "stopped")
        try:
            async with asyncio.timeout(RESTARTED_WITHIN_S):
                state = await self._membership.until(lambda s: s.phase in wanted)
        except TimeoutError:
            raise Conflict(world.cluster().summary.text, "Its log has the details.", code=code) from None
        cluster = world.cluster()
        if state.phase != "ready":
            raise Conflict(cluster.summary.text, cluster.reason.hint if cluster.reason else "", code=code)
        return cluster

    async def _stop(self, _: bytes, order: clients.Stop) -> None:
        self._world.heir = self._world.heir or order.heir
        self._world.stop(ending=order.by)
