"""The world that a cluster's head owns: its start, each of its states, and its end."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from dtrain_lab.head.cells.cells import Cells
from dtrain_lab.head.lifetime import head_record
from dtrain_lab.head.lifetime.lifetime import OVER, Lifetime
from dtrain_lab.head.membership import Membership
from dtrain_lab.head.metrics.advice_requests import AdviceRequests
from dtrain_lab.head.metrics.lost_ranks import Losses
from dtrain_lab.head.metrics.start_history import StartHistory
from dtrain_lab.head.nodes.nodes import Nodes
from dtrain_lab.head.ownership.cell_timeouts import CellTimeouts
from dtrain_lab.head.ownership.executor import Executor
from dtrain_lab.head.ownership.rank_ownership import Parts
from dtrain_lab.head.ownership.ranks import Ranks
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.endings import Ending
from dtrain_lab.wire.kinds import WorldPhase
from dtrain_lab.wire.plan import Plan
from dtrain_lab.wire.processes.head_record import Server
from dtrain_lab.wire.processes.settings import HeadSettings
from dtrain_lab.world import State
from dtrain_lab.world import events as on
from dtrain_lab.world.events import Event
from dtrain_lab.world.summary import soon

log = logging.getLogger("dtrain_lab.head")
LINGER_FAILED_S = 600.0


class OwnedWorld:
    """Makes ranks, runs cells on them, and ends them.

    It is the `NodesWorld`, `ExecutorWorld`, `TimeoutsWorld` and `RequestsWorld` of those that use it.

    Args:
        settings: Settings of the head.
        parts: Shared parts of the head.
        moved: Called after the world has acted on a new state.
    """

    def __init__(self, settings: HeadSettings, parts: Parts, moved: Callable[[], None]) -> None:
        self._settings = settings
        self.mark_changed, self._before_cell = parts.mark_changed, parts.before_cell
        self._tell_moved = moved
        self.collector, self.snapshot, self._routes = parts.collector, parts.snapshot, parts.routes
        self._losses, self._failures = Losses(), parts.failures
        directory = Path(settings.directory)
        beside = Path(settings.record).parent if settings.record else directory.parent
        self._starts = StartHistory(beside / "starts.jsonl")
        self.cells = Cells(
            parts.journal,
            self._routes.to_ranks,
            parts.client_queues,
            self._began,
            self._can_begin,
            self.snapshot.rests,
        )
        self.limits = CellTimeouts(self, self.cells)
        self._executor = Executor(self, self.cells, self._routes, self.collector, parts.debugger)
        self.membership = Membership(self._executor, self.moved)
        self.advice = AdviceRequests(self.collector, self.cells, self.cluster)
        self.lifetime = Lifetime(settings, self.membership, self.cells, self.snapshot, self.stop)
        self.nodes = Nodes(self, settings, self.snapshot, parts.link, self._routes.to_peer)
        self.ranks = Ranks(
            settings.id,
            self.collector,
            self.snapshot,
            self._routes,
            parts.debugger,
            self.membership,
            self.cells,
            self.nodes,
        )
        self._former: Plan | None = None
        """While the world shrinks: the plan in which the ending ranks still are."""
        self._phase = ""
        self._server = Server(settings.server, settings.server_started)
        self.over = asyncio.Event()
        """Set once this process may end."""
        self.ending = self._was_ready = False
        self.heir = ""
        """Socket at which the agent of the next head takes over the fork server."""

    # ---- what it is

    @property
    def state(self) -> State:
        """State of the world: its members, and which rank runs which cell."""
        return self.membership.state

    @property
    def name(self) -> str:
        """Name of the cluster."""
        return self.snapshot.name

    @property
    def phase(self) -> WorldPhase:
        """Phase of the world."""
        return self.state.phase

    @property
    def plan(self) -> Plan | None:
        """Plan of the world, once it has one."""
        return self.collector.plan

    @property
    def living_plan(self) -> Plan:
        """Plan by which ranks are found; while the world shrinks, the ending ones are in it, too."""
        plan = self._former or self.plan
        assert plan is not None
        return plan

    def cluster(self) -> Cluster:
        """Current snapshot of the world."""
        self.collector.link_bytes_per_s = self.nodes.link_bytes_per_s
        if self._losses.all:  # what a cell's end says of their cause comes after the loss
            self._losses.update(self.state, self.cells.records())
        cluster = self.snapshot.cluster(self.state, self.cells.running, self.lifetime.leases.notebooks)
        limit = self.lifetime.limit.at
        return msgspec.structs.replace(
            cluster,
            former_notebooks=self.lifetime.leases.former_notebooks,
            ends_at=self.lifetime.ends_at,
            limit_at=limit,
            summary=soon(cluster.summary, limit, time.time()),
            metrics=self.advice.in_metrics(cluster.metrics),
            lost=self._losses.all,
            waiting=self.cells.queued,
            has_run=self.cells.has_run,
            usual_start_s=None if self._was_ready else self._starts.usual_s,
            troubles=self._failures.all,
        )

    def paused(self) -> bool:
        """Whether a debugger holds ranks."""
        return self._executor.paused()

    def pid(self, rank: int) -> int | None:
        """Process id of a rank."""
        return self.ranks.pid(rank)

    # ---- its life

    def publish(self) -> None:
        """Write the head's record."""
        identity = self._settings, self.snapshot.name, self.snapshot.created_at
        head_record.write(*identity, warm=self.plan is None, server=self._server)

    def launch(self, order: clients.Launch) -> None:
        """Become a world, and start its nodes."""
        self.collector.plan = order.plan
        self.snapshot.launched(order.name, order.owner)
        self.lifetime.leases.launched(detached=order.detached)
        self._server = Server(order.server, order.server_started)
        self._starts.began(order.plan)
        self.publish()
        if self._settings.remote is not None:
            self.nodes.expect(order.plan)
        elif self.phase != "failed":
            for index, node in enumerate(order.plan.nodes[1:], start=1):
                self.nodes.start(index, node.name, node.gpus, order.plan.variables)
        self.happened(on.Launched(order.plan.size, len(order.plan.nodes)))

    def resize(self, plan: Plan) -> None:
        """Resize the world: end the last ranks, or make new ones."""
        assert self.plan is not None
        self._former = self.plan
        # a plan made elsewhere does not know which nodes a scheduler chose
        kept = zip(plan.nodes, self.plan.nodes, strict=False)
        nodes = tuple(
            msgspec.structs.replace(new, name=old.name, address=old.address, gpus=old.gpus)
            for new, old in kept
        )
        nodes += plan.nodes[len(nodes) :]
        self.collector.plan = msgspec.structs.replace(self.plan, nodes=nodes)
        self.ranks.resized(self.collector.plan)
        self.nodes.resized(len(nodes))
        self.happened(on.ResizeAsked(plan.size))
        for rank in range(plan.size, self._former.size):
            self.forget(rank)
        self._former = None

    def stop(self, why: str = "", ending: Ending | None = None) -> None:
        """End the world and this process."""
        if self.phase in OVER:
            self.over.set()
        else:
            self.happened(on.StopAsked(why, ending or Ending(at=time.time())))

    def happened(self, event: Event) -> None:
        """Feed an event to the state machine."""
        self.membership.happened(event)

    def all_joined(self) -> None:
        """All agents have joined."""
        self.lifetime.all_joined()

    def forget(self, rank: int) -> None:
        """Drop what is known of a rank whose process is gone."""
        self.ranks.forget(rank)

    def end(self) -> None:
        """End the world; after a failure the head stays for a while to tell clients why."""
        if self.phase == "failed":
            self.ending = True
            self.nodes.leave()
            asyncio.get_running_loop().call_later(LINGER_FAILED_S, self.over.set)
        else:
            self.over.set()

    def moved(self, state: State) -> None:
        """Act on the world's new state: losses, phases of the start, pending cells."""
        if state.phase != self._phase:
            self._phase = state.phase
            why = f": {state.reason[1]}" if state.reason else ""
            log.info("%s, generation %s%s", state.phase, state.generation, why)
            if state.phase == "ready":  # idle time starts now: a start may take longer than the idle limit
                self.snapshot.rests(not self.cells.busy)
        if state.losses or self._losses.all:
            self._losses.update(state, self.cells.records())
        if state.phase == "ready":
            if not self._was_ready:
                self._was_ready = True
                self._starts.ready()
            self.snapshot.phase_ended("connect")
        if state.phase in ("ready", "degraded") and not state.forming:
            # runs for every reply of every rank: avoid work that is linear in ranks
            if queued := self.cells.queued_ids():
                self.limits.withdraw_blocked(queued, state)
            self.cells.go_on()
        elif state.phase in ("stopping", "failed"):
            self.cells.withdraw(self.cells.queued_ids(), "The cluster has ended.")
        self._tell_moved()

    def _can_begin(self, ranks: frozenset[int]) -> bool:
        return self.state.can_begin(ranks)

    def _began(self, cell: str, ranks: tuple[int, ...]) -> None:
        self._before_cell()
        running = self.cells.get(cell)
        self.ranks.begin(ranks, running.order if running is not None else None)
        self.happened(on.CellBegan(cell, ranks))
        self.limits.began(cell)
