"""Policy of a cluster's head: owns the ranks, makes them, runs cells on them, and ends them with itself."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from pathlib import Path

import msgspec

from dtrain_lab.head.cells.cell_requests import CellRequests
from dtrain_lab.head.cells.cells import Cells
from dtrain_lab.head.cells.diagnoses import Diagnoses
from dtrain_lab.head.figures.advice_requests import AdviceRequests
from dtrain_lab.head.figures.lost_ranks import Losses
from dtrain_lab.head.figures.start_history import Starts
from dtrain_lab.head.lifetime import record
from dtrain_lab.head.lifetime.lifetime import OVER, Lifetime
from dtrain_lab.head.listen import Listening
from dtrain_lab.head.membership import Membership
from dtrain_lab.head.nodes.engines import Engines
from dtrain_lab.head.nodes.nodes import Nodes
from dtrain_lab.head.ownership import orders
from dtrain_lab.head.ownership.cell_limits import CellLimits
from dtrain_lab.head.ownership.executor import Executor
from dtrain_lab.head.ownership.policy import Parts
from dtrain_lab.head.ownership.ranks import Ranks
from dtrain_lab.head.requests import Handlers, Ordered
from dtrain_lab.head.world_requests import WorldRequests
from dtrain_lab.machine import supervision
from dtrain_lab.wire import clients, links
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.endings import Ending
from dtrain_lab.wire.kinds import WorldPhase
from dtrain_lab.wire.loop_failures import Trouble, merged
from dtrain_lab.wire.metrics.history import Point
from dtrain_lab.wire.metrics.verdicts import Verdict
from dtrain_lab.wire.plan import Plan
from dtrain_lab.wire.processes.endpoints import Keys
from dtrain_lab.wire.processes.record import Server
from dtrain_lab.wire.processes.settings import HeadSettings
from dtrain_lab.wire.stacks import Frame
from dtrain_lab.world import State
from dtrain_lab.world import events as on
from dtrain_lab.world.events import Event
from dtrain_lab.world.summary import soon

log = logging.getLogger("dtrain_lab.head")
LINGER_FAILED_S = 600.0
END_WITHIN_S = 1.5


class Owner:
    """Owns one world. Implements `policy.Policy` and `nodes.World`."""

    tick_s = 0.25
    point_s = 1.0
    idle_point_s: float | None = 5.0
    ranks_answer = True
    agents_within_s = 1.5
    """Short, because a stopped process can't be examined anyway."""

    def __init__(self, settings: HeadSettings, parts: Parts) -> None:
        self.settings = settings
        self.parts = parts
        self.figures, self.snapshot, self.peers = parts.figures, parts.snapshot, parts.peers
        directory = Path(settings.directory)
        self._losses = Losses()
        beside = Path(settings.record).parent if settings.record else directory.parent
        self._starts = Starts(beside / "starts.jsonl")
        self.cells = Cells(
            parts.journal,
            self.peers.to_ranks,
            parts.outlets,
            self._began,
            self._can_begin,
            self.snapshot.rests,
        )
        self._limits = CellLimits(self, self.cells)
        self._executor = Executor(self, parts, self.cells)
        self.membership = Membership(self._executor, self.moved)
        self._advice = AdviceRequests(self.figures, self.cells, self.cluster)
        self.lifetime = Lifetime(settings, self.membership, self.cells, self.snapshot, self.stop)
        self.nodes = Nodes(self, settings, self.snapshot, parts.link, self.peers.to_peer)
        self.ranks = Ranks(settings.id, parts, self.membership, self.cells, self.nodes)
        self._former: Plan | None = None
        """While the world shrinks: the plan in which the ending ranks still are."""
        self._troubles: dict[int, tuple[Trouble, ...]] = {}
        """Node → failures inside its agent."""
        self._phase = ""
        self._server = Server(settings.server, settings.server_started)
        self._done = asyncio.Event()
        self.ending = self._was_ready = False
        self.heir = ""
        """Socket at which the agent of the next head takes over the fork server."""
        self._cell_requests = CellRequests(
            self.membership, self.cells, parts.journal, self.peers, self.cluster
        )
        self._diagnoses = Diagnoses(
            self._cell_requests,
            self.cells,
            self.membership,
            self.cluster,
            self.figures,
            self._advice.advice,
            parts.moved,
        )
        leases = self.lifetime.leases
        lost = self._cell_requests.calls_lost
        self._engines = Engines(self.nodes.controller, self.peers.to_ranks, self.membership, lost)
        self._requests = WorldRequests(self, parts, self.cells, self.membership, leases, self.nodes)
        remote = settings.remote
        self.listens = (
            Listening(remote.endpoints, True, remote.interface, remote.ports, remote.launch.plan.variables)
            if remote is not None
            else None
        )

    async def run(self, keys: Keys | None) -> None:
        """Own the ranks until the world has ended."""
        loop = asyncio.get_running_loop()
        kept = supervision.here()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.lifetime.end_by_signal)
        loop.add_signal_handler(signal.SIGUSR2, self.lifetime.limit.warned)
        loop.add_signal_handler(signal.SIGINT, lambda: None)
        self.nodes.keys = keys
        self.snapshot.phase_began("load")
        settings, remote = self.settings, self.settings.remote
        if remote is None or remote.own_agent:
            self.nodes.start(0, settings.node.name, settings.node.gpus, settings.variables)
        if remote is not None:
            self.launch(remote.launch)
        self.lifetime.leases.expect()
        self._write_record()
        limit = kept.keep("head.limit", self.lifetime.limit.watch)
        try:
            await self._done.wait()
        finally:
            limit.cancel()
            self.membership.close()
            self.nodes.leave(self.heir)
            self._engines.close()
            await self.nodes.close(END_WITHIN_S, handing_on=bool(self.heir))
            record.remove(settings)
            self.lifetime.over()

    # ---- what clients ask and see

    @property
    def state(self) -> State:
        """State of the world: its members, and which rank runs which cell."""
        return self.membership.state

    @property
    def phase(self) -> WorldPhase:
        """Phase of the world."""
        return self.state.phase

    @property
    def plan(self) -> Plan | None:
        """Plan of the world, once it has one."""
        return self.figures.plan

    @property
    def handlers(self) -> Handlers:
        """Handlers of requests that only an owner can answer."""
        return {
            **self._requests.handlers,
            clients.Engines: self._engines.where,
            **self._cell_requests.handlers,
            clients.Diagnose: self._diagnoses.diagnose,
            clients.TryAdvice: self._diagnoses.try_advice,
            **self._advice.handlers,
        }

    @property
    def ordered(self) -> Ordered:
        """Handlers of requests about cells that are handled in the order of arrival."""
        return {clients.Run: self._cell_requests.run, clients.Follow: self._cell_requests.follow}

    @property
    def living_plan(self) -> Plan:
        """Plan by which ranks are found; while the world shrinks, the ending ones are in it, too."""
        plan = self._former or self.plan
        assert plan is not None
        return plan

    def asked(self) -> None:
        """A client has connected to this head."""
        self.lifetime.reached()

    def cluster(self) -> Cluster:
        """Current snapshot of the cluster."""
        self.figures.link_bytes_per_s = self.nodes.link_bytes_per_s
        cluster = self.snapshot.cluster(self.state, self.cells.running, self.lifetime.leases.notebooks)
        limit = self.lifetime.limit.at
        return msgspec.structs.replace(
            cluster,
            ends_at=self.lifetime.ends_at,
            limit_at=limit,
            summary=soon(cluster.summary, limit, time.time()),
            metrics=self._advice.in_metrics(cluster.metrics),
            lost=self._losses.all,
            has_run=self.cells.has_run,
            usual_start_s=None if self._was_ready else self._starts.usual_s,
            troubles=merged(supervision.here().troubles, *self._troubles.values()),
        )

    def place(self, rank: int, frame: Frame) -> tuple[str | None, str | None]:
        """Notebook and cell id for a stack frame; None if unknown."""
        running = self.cells.of_rank(rank)
        notebook = running.order.notebook if running is not None else None
        return self.cells.place(frame.run, frame.cell or "", notebook)

    def ask_stacks(self, ranks: tuple[int, ...], number: int) -> None:
        """Ask the agents for stacks of ranks that don't answer themselves."""
        if self.plan is not None:
            for index, _, mine in orders.by_node(self.plan, ranks):
                self.nodes.send(index, links.AskStacks(number, mine))

    def tick(self, stuck: Verdict | None) -> None:
        """Called on each tick: check silent nodes, idle time and hangs."""
        self.nodes.check_silence()
        self.lifetime.check_idle()
        if stuck is not None:
            self._limits.check_hang(stuck)

    def keep(self, point: Point) -> None:
        """Does nothing: a cluster's history ends with its head."""

    # ---- the world's life

    def launch(self, order: clients.Launch) -> None:
        """Become the head of a world, and start its nodes."""
        self.figures.plan = order.plan
        self.snapshot.launched(order.name, order.owner)
        self.lifetime.leases.launched(detached=order.detached)
        self._server = Server(order.server, order.server_started)
        self._starts.began(order.plan)
        self._write_record()
        if self.settings.remote is not None:
            self.nodes.expect(order.plan)
        else:
            for index, node in enumerate(order.plan.nodes[1:], start=1):
                self.nodes.start(index, node.name, node.gpus, order.plan.variables)
        self.happened(on.Launched(order.plan.size, len(order.plan.nodes)))

    def resize(self, plan: Plan) -> None:
        """Resize the world: end the last ranks, or make new ones."""
        assert self.plan is not None
        self._former = self.plan
        # a plan made elsewhere does not know which nodes a scheduler chose
        known = zip(plan.nodes, self.plan.nodes, strict=False)
        nodes = tuple(
            msgspec.structs.replace(new, name=old.name, address=old.address, gpus=old.gpus)
            for new, old in known
        )
        nodes += plan.nodes[len(nodes) :]
        self.figures.plan = msgspec.structs.replace(self.plan, nodes=nodes)
        self.ranks.resized(self.figures.plan)
        self.nodes.resized(len(nodes))
        self.happened(on.ResizeAsked(plan.size))
        for rank in range(plan.size, self._former.size):
            self.forget(rank)
        self._former = None

    def stop(self, why: str = "", ending: Ending | None = None) -> None:
        """End the world and this process."""
        if self.phase in OVER:
            self._done.set()
        else:
            self.happened(on.StopAsked(why, ending or Ending(at=time.time())))

    def happened(self, event: Event) -> None:
        """Feed an event to the state machine."""
        self.membership.happened(event)

    def all_joined(self) -> None:
        """All agents have joined."""
        self.lifetime.all_joined()

    def pid(self, rank: int) -> int | None:
        """Process id of a rank."""
        return self.ranks.pid(rank)

    def forget(self, rank: int) -> None:
        """Drop what is known of a rank whose process is gone."""
        self.ranks.forget(rank)

    def end(self) -> None:
        """End the world; after a failure the head stays for a while to tell clients why."""
        if self.phase == "failed":
            self.ending = True
            self.nodes.leave()
            asyncio.get_running_loop().call_later(LINGER_FAILED_S, self._done.set)
        else:
            self._done.set()

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
            if waiting := self.cells.waiting():
                self._limits.withdraw_blocked(waiting, state)
            self.cells.go_on()
        elif state.phase in ("stopping", "failed"):
            self.cells.withdraw(self.cells.waiting(), "The cluster has ended.")
        self._engines.moved()
        self.parts.moved()

    def paused(self) -> bool:
        """Whether a debugger holds ranks."""
        return self._executor.paused()

    def _can_begin(self, ranks: frozenset[int]) -> bool:
        return self.state.can_begin(ranks)

    # ---- link and cells

    def received(self, peer: bytes, message: links.Message, frame: bytes) -> None:
        """Handle a message of a rank or an agent.

        Args:
            peer: Socket identity of the sender.
            message: The decoded message.
            frame: The same message as it arrived, which is what clients get of an output.
        """
        match message:
            case links.Samples(node):
                self.nodes.note_alive(node)
            case links.Completed():
                self._cell_requests.completed(message)
            case links.WidgetHandled():
                self._cell_requests.handled(message)
            case links.NodeHello() | links.Preloaded() | links.Listening() | links.Probed():
                self.nodes.received(peer, message)
                self._engines.received(message)
            case links.RankHello():
                self.ranks.received(peer, message, frame)
                self._engines.received(message)
            case links.Registered() | links.Forked(links.CONTROLLER) | links.Exited(links.CONTROLLER):
                self._engines.received(message)
            case links.LoopFailed(node, troubles):
                self._troubles[node] = troubles
                self.parts.moved()
            case _:
                self.ranks.received(peer, message, frame)

    def _began(self, cell: str, ranks: tuple[int, ...]) -> None:
        self.parts.begins()
        running = self.cells.get(cell)
        self.ranks.begin(ranks, running.order if running is not None else None)
        self.happened(on.CellBegan(cell, ranks))
        self._limits.began(cell)

    def _write_record(self) -> None:
        known = self.settings, self.snapshot.name, self.snapshot.created_at
        record.write(*known, warm=self.plan is None, server=self._server)
