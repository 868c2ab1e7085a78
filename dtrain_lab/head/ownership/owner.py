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
from dtrain_lab.head.figures.advice import Changes
from dtrain_lab.head.figures.lost_ranks import Losses
from dtrain_lab.head.figures.start_history import Starts
from dtrain_lab.head.lifetime import record
from dtrain_lab.head.lifetime.lifetime import OVER, Lifetime
from dtrain_lab.head.listen import Listening
from dtrain_lab.head.membership import Membership
from dtrain_lab.head.nodes.nodes import Nodes
from dtrain_lab.head.ownership import orders
from dtrain_lab.head.ownership.policy import Parts
from dtrain_lab.head.ownership.ranks import Ranks
from dtrain_lab.head.requests import Handlers, Ordered
from dtrain_lab.head.world_requests import WorldRequests
from dtrain_lab.machine import supervision
from dtrain_lab.metrics.forecast import forecast
from dtrain_lab.metrics.verdicts.hang import ALARMS
from dtrain_lab.wire import clients, links
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.kinds import WorldPhase
from dtrain_lab.wire.metrics.forecast import Forecast
from dtrain_lab.wire.metrics.history import Point
from dtrain_lab.wire.metrics.verdicts import Advice, Verdict
from dtrain_lab.wire.plan import Plan
from dtrain_lab.wire.processes.endpoints import Keys
from dtrain_lab.wire.processes.settings import HeadSettings
from dtrain_lab.wire.stacks import Frame
from dtrain_lab.wire.trouble import Trouble, merged
from dtrain_lab.world import State
from dtrain_lab.world import events as on
from dtrain_lab.world.events import Event
from dtrain_lab.world.summary import soon

log = logging.getLogger("dtrain_lab.head")
LINGER_FAILED_S = 600.0
END_WITHIN_S = 1.5
PAUSED_S = 1.0
"""Seconds between checks whether ranks are still paused, when a cell's time-out is due."""


class Owner:
    """Owns one world. Implements `policy.Policy`, `membership.Hands` and `nodes.World`."""

    tick_s = 0.25
    point_s = 1.0
    ranks_answer = True
    agents_within_s = 1.5
    """Short, because a stopped process can't be examined anyway."""

    def __init__(self, settings: HeadSettings, parts: Parts) -> None:
        self.settings = settings
        self.parts = parts
        self.figures, self.snapshot, self.peers = parts.figures, parts.snapshot, parts.peers
        directory = Path(settings.directory)
        self._losses = Losses()
        self._changes = Changes()
        beside = Path(settings.record).parent if settings.record else directory.parent
        self._starts = Starts(beside / "starts.jsonl")
        self.membership = Membership(self)
        self.cells = Cells(
            parts.journal,
            self.peers.to_rank,
            parts.outlets,
            self._began,
            self._can_begin,
            self.snapshot.rests,
        )
        self.lifetime = Lifetime(settings, self.membership, self.cells, self.snapshot, self.stop)
        self.nodes = Nodes(self, settings, self.snapshot, parts.link, self.peers.to_peer)
        self._ranks = Ranks(settings.id, parts, self.membership, self.cells, self.nodes)
        self._former: Plan | None = None
        """While the world shrinks: the plan in which the ending ranks still are."""
        self._troubles: dict[int, tuple[Trouble, ...]] = {}
        """Node → failures inside its agent."""
        self._phase = ""
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
            self._advice,
            parts.moved,
        )
        leases = self.lifetime.leases
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
            loop.add_signal_handler(number, self.lifetime.told_to_end)
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
            **self._cell_requests.handlers,
            clients.Diagnose: self._diagnoses.diagnose,
            clients.TryAdvice: self._diagnoses.try_advice,
            clients.Advise: self._advise,
            clients.ForecastNodes: self._forecast,
        }

    @property
    def ordered(self) -> Ordered:
        """Handlers of requests about cells that are handled in the order of arrival."""
        return {clients.Run: self._cell_requests.run, clients.Follow: self._cell_requests.follow}

    def asked(self) -> None:
        """A client has connected to this head."""
        self.lifetime.reached()

    def cluster(self) -> Cluster:
        """Current snapshot of the cluster."""
        self.figures.link_bytes_per_s = self.nodes.link_bytes_per_s
        cluster = self.snapshot.cluster(self.state, self.cells.running, self.lifetime.leases.notebooks)
        limit = self.lifetime.limit.at
        metrics = cluster.metrics
        return msgspec.structs.replace(
            cluster,
            ends_at=self.lifetime.ends_at,
            limit_at=limit,
            summary=soon(cluster.summary, limit, time.time()),
            metrics=self._changes.shown(metrics, self.cells.orders),
            lost=self._losses.all,
            usual_start_s=None if self._was_ready else self._starts.usual_s,
            troubles=merged(supervision.here().troubles, *self._troubles.values()),
        )

    def place(self, rank: int, frame: Frame) -> tuple[str | None, str | None]:
        """Notebook and cell id for a stack frame; None where not known."""
        running = self.cells.of_rank(rank)
        notebook = running.order.notebook if running is not None else None
        return self.cells.place(frame.run, frame.cell or "", notebook)

    def ask_stacks(self, ranks: tuple[int, ...], number: int) -> None:
        """Ask the agents for stacks of ranks that don't answer themselves."""
        if self.plan is not None:
            for index, _, mine in orders.by_node(self.plan, ranks):
                self.nodes.say(index, links.AskStacks(number, mine))

    def look(self, stuck: Verdict | None) -> None:
        """Called on each tick: check silent nodes, idle time and hangs."""
        self.nodes.look()
        self.lifetime.look()
        if stuck is None:
            return
        if stuck.code == "not_in_cell":  # no action in a notebook could resolve this
            self._end_hopeless(stuck, stuck.peers)
        if stuck.kind in ALARMS and self.plan is not None and self.plan.watch.on_hang == "interrupt":
            self._end_hopeless(stuck, (*stuck.ranks, *stuck.peers))

    def _end_hopeless(self, verdict: Verdict, ranks: tuple[int, ...]) -> None:
        """Interrupt the cells of these ranks on the head's own decision."""
        for rank in ranks:
            cell = self.cells.of_rank(rank)
            if cell is not None and not cell.hopeless:
                cell.hopeless = verdict.text
                self.happened(on.InterruptAsked(tuple(cell.left)))

    def keep(self, point: Point) -> None:
        """Does nothing: a cluster's history ends with its head."""

    # ---- the world's life

    def launch(self, order: clients.Launch) -> None:
        """Become the head of a world, and start its nodes."""
        self.figures.plan = order.plan
        self.snapshot.name = order.name
        self.snapshot.owner = order.owner
        self.snapshot.created_at = time.time()
        self.lifetime.leases.expect()
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
        self._ranks.resized(self.figures.plan)
        self.nodes.resized(len(nodes))
        self.happened(on.ResizeAsked(plan.size))
        for rank in range(plan.size, self._former.size):
            self.forget(rank)
        self._former = None

    def stop(self, why: str = "") -> None:
        """End the world and this process."""
        if self.phase in OVER:
            self._done.set()
        else:
            self.happened(on.StopAsked(why))

    def happened(self, event: Event) -> None:
        """Feed an event to the state machine."""
        self.membership.happened(event)

    def all_joined(self) -> None:
        """All agents have joined."""
        self.lifetime.all_joined()

    def pid(self, rank: int) -> int | None:
        """Process id of a rank."""
        return self._ranks.pid(rank)

    def forget(self, rank: int) -> None:
        """Drop what is known of a rank whose process is gone."""
        self._ranks.forget(rank)

    # ---- Hands

    def fork(self, ranks: tuple[int, ...]) -> None:
        """Fork processes for ranks."""
        self._ranks.fork(ranks)

    def form(self, generation: int, joining: tuple[int, ...]) -> None:
        """Tell all ranks to form the process group of a generation."""
        self._ranks.form(generation, joining)

    def signal(self, ranks: tuple[int, ...], number: int) -> None:
        """Send a signal to ranks."""
        if number == signal.SIGINT and self.parts.debugger.paused.intersection(ranks):
            supervision.here().once("head.action", self._release_and_signal(ranks))
        else:
            self._signal(ranks, number)

    async def _release_and_signal(self, ranks: tuple[int, ...]) -> None:
        """A rank at a breakpoint would miss the interrupt (Python 3.12 and newer), so release it first."""
        await self.parts.debugger.release(ranks)
        self._signal(ranks, signal.SIGINT)

    def _signal(self, ranks: tuple[int, ...], number: int) -> None:
        plan = self._former or self.plan
        assert plan is not None
        self._ranks.signal(plan, ranks, number)

    def end_ranks(self, ranks: tuple[int, ...]) -> None:
        """Tell ranks to exit by themselves."""
        for rank in ranks:
            self.peers.to_rank(rank, links.End())

    def abort(self, ranks: tuple[int, ...], hooks: bool) -> None:
        """Abort the collectives that ranks wait in, and with `hooks` what backward runs in other threads."""
        self._ranks.abort(ranks, hooks)

    def fail_cell(self, rank: int, message: str, *, stopped: bool) -> None:
        """Fail the cell of a rank that will never reply."""
        self.cells.lose(rank, message, stopped=stopped)

    def give_up(self, ranks: tuple[int, ...]) -> None:
        """End the cells of unresponsive ranks without them."""
        self.cells.give_up(ranks)

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
            self._losses.look(state, self.cells.records())
        if state.phase == "ready":
            if not self._was_ready:
                self._was_ready = True
                self._starts.ready()
            self.snapshot.phase_ended("connect")
        if state.phase in ("ready", "degraded") and not state.forming:
            # runs for every reply of every rank: avoid work that is linear in ranks
            if waiting := self.cells.waiting():
                self._withdraw_blocked(waiting, state)
            self.cells.go_on()
        elif state.phase in ("stopping", "failed"):
            self.cells.withdraw(self.cells.waiting(), "the cluster has ended.")
        self.parts.moved()

    def paused(self) -> bool:
        """Whether a debugger holds ranks."""
        return bool(self.figures.paused)

    def _can_begin(self, ranks: frozenset[int]) -> bool:
        return self.state.can_begin(ranks)

    def _withdraw_blocked(self, waiting: list[str], state: State) -> None:
        """Remove queued cells that can't run: their ranks are lost or unresponsive, or there is no group."""
        ranks = {n: c.ranks for n in waiting if (c := self.cells.get(n))}
        kept = [n for n, of in ranks.items() if state.blocked(of)]
        if kept and state.reason is not None:
            self.cells.withdraw(kept, state.reason[1])
        lost = [n for n, of in ranks.items() if n not in kept and not set(state.lost).isdisjoint(of)]
        if lost:
            self.cells.withdraw(lost, self.cluster().summary.text)

    # ---- link and cells

    def received(self, peer: bytes, message: links.Message, frame: bytes) -> None:
        """Handle a message of a rank or an agent."""
        match message:
            case links.Samples(node):
                self.nodes.heard(node)
            case links.Completed():
                self._cell_requests.completed(message)
            case links.Handled():
                self._cell_requests.handled(message)
            case links.NodeHello() | links.Preloaded() | links.Listening() | links.Probed():
                self.nodes.received(peer, message)
            case links.Forked(links.CONTROLLER):
                pass
            case links.Exited(links.CONTROLLER):
                self._controller_ended(message.last)
            case links.Troubled(node, troubles):
                self._troubles[node] = troubles
                self.parts.moved()
            case _:
                self._ranks.received(peer, message, frame)

    def _controller_ended(self, last: str) -> None:
        if self.ending:
            return
        if self.phase in ("pending", "starting"):
            last = last.strip()[-500:]
            self.happened(on.NodeFailed(0, "the ipyparallel controller ended", last))
        else:
            self.nodes.controller_ended()
            self._cell_requests.calls_lost()

    async def _advise(self, _client: bytes, _order: clients.Advise) -> tuple[Advice, ...]:
        self.cluster()  # looks at the newest samples
        return self._advice()

    def _advice(self) -> tuple[Advice, ...]:
        """Advice on the loop that trains, or trained last, with its changes."""
        return self._changes.given(self.figures.advice, self.cells.orders)

    async def _forecast(self, _client: bytes, order: clients.ForecastNodes) -> Forecast:
        nodes = len(self.cluster().nodes)  # looks at the newest samples
        return forecast(self.figures.measured, nodes, order.nodes, order.ranks, order.speed, order.speed_now)

    def _began(self, cell: str, ranks: tuple[int, ...]) -> None:
        self.parts.begins()
        running = self.cells.get(cell)
        self._ranks.begin(ranks, running.order.code if running is not None else "")
        self.happened(on.CellBegan(cell, ranks))
        if running is not None and running.order.timeout_s is not None:
            loop = asyncio.get_running_loop()
            loop.call_later(running.order.timeout_s, self._timed_out, cell)

    def _timed_out(self, cell: str) -> None:
        running = self.cells.get(cell)
        if running is not None and self.paused():  # the time-out does not count time in the debugger
            asyncio.get_running_loop().call_later(PAUSED_S, self._timed_out, cell)
        elif running is not None:
            running.timed_out = True
            self.happened(on.InterruptAsked(tuple(running.left)))

    def _write_record(self) -> None:
        record.write(self.settings, self.snapshot.name, self.snapshot.created_at, warm=self.plan is None)
