"""What a cluster's head does: owns the ranks, makes them, runs cells on them, ends them with itself."""

from __future__ import annotations

import asyncio
import signal

from msgspec.structs import replace

from dtrain_lab.head.cells.cell_requests import CellRequests
from dtrain_lab.head.cells.diagnoses import Diagnoses
from dtrain_lab.head.lifetime import head_record, last_cells
from dtrain_lab.head.listen import ListenSettings
from dtrain_lab.head.nodes.engines import Engines
from dtrain_lab.head.ownership import messages
from dtrain_lab.head.ownership.owned_world import OwnedWorld
from dtrain_lab.head.ownership.rank_ownership import Parts, StackReader
from dtrain_lab.head.requests import Handlers, Ordered
from dtrain_lab.head.world_requests import WorldRequests
from dtrain_lab.machine import supervision
from dtrain_lab.wire import clients, links
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.metrics.history import Point
from dtrain_lab.wire.metrics.verdicts import Verdict
from dtrain_lab.wire.processes.endpoints import Keys
from dtrain_lab.wire.processes.settings import HeadSettings
from dtrain_lab.wire.stacks import Frame
from dtrain_lab.world import State

END_WITHIN_S = 1.5
AGENTS_WITHIN_S = 1.5
"""Seconds that agents may take to read stacks; short, because a stopped process can't be examined anyway."""


class Owner:
    """Owns one world: answers its clients, and hands it the messages of its ranks and agents.

    Implements `rank_ownership.RankOwnership`.

    Args:
        settings: Settings of the head.
        parts: Shared parts of the head.
    """

    tick_s = 0.25
    point_s = 1.0
    idle_point_s: float | None = 5.0

    def __init__(self, settings: HeadSettings, parts: Parts) -> None:
        self._settings = settings
        self._routes, self._mark_changed = parts.routes, parts.mark_changed
        agents = StackReader(self._ask_agents, AGENTS_WITHIN_S)
        self.stack_readers: tuple[StackReader, ...] = (StackReader(self._ask_ranks), agents)
        world = self.world = OwnedWorld(settings, parts, self._moved)
        self._nodes, self._ranks, self._cells = world.nodes, world.ranks, world.cells
        self._cell_requests = CellRequests(
            world.membership, world.cells, parts.journal, parts.routes, world.cluster
        )
        self._diagnoses = Diagnoses(
            self._cell_requests,
            world.cells,
            world.membership,
            world.cluster,
            parts.collector,
            world.advice.advice,
            parts.mark_changed,
        )
        leases = world.lifetime.leases
        lost = self._cell_requests.calls_lost
        self._engines = Engines(world.nodes.controller, parts.routes.to_ranks, world.membership, lost)
        self._requests = WorldRequests(
            world, world.cells, world.membership, leases, world.nodes, parts.debugger
        )
        remote = settings.remote
        self.listens = (
            ListenSettings(
                remote.endpoints, True, remote.interface, remote.ports, remote.launch.plan.variables
            )
            if remote is not None
            else None
        )

    async def run(self, keys: Keys | None) -> None:
        """Own the ranks until the world has ended."""
        loop = asyncio.get_running_loop()
        supervisor = supervision.here()
        world, lifetime, nodes = self.world, self.world.lifetime, self._nodes
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, lifetime.end_by_signal)
        loop.add_signal_handler(signal.SIGUSR2, lifetime.limit.warned)
        loop.add_signal_handler(signal.SIGINT, lambda: None)
        nodes.keys = keys
        world.snapshot.phase_began("load")
        settings, remote = self._settings, self._settings.remote
        if remote is None or remote.own_agent:
            nodes.start(0, settings.node.name, settings.node.gpus, settings.variables)
        if remote is not None:
            world.launch(remote.launch)
        lifetime.leases.expect()
        world.publish()
        limit = supervisor.start_loop("head.limit", lifetime.limit.watch)
        try:
            await world.over.wait()
        finally:
            limit.cancel()
            self._leave_notes()
            world.membership.close()
            nodes.leave(world.heir)
            self._engines.close()
            await nodes.close(END_WITHIN_S, handing_on=bool(world.heir))
            head_record.remove(settings)
            lifetime.over()

    def _leave_notes(self) -> None:
        """Leave how cells and the world end, before clients find the head gone."""
        ending = self.state.ending
        try:
            if ending is not None and ending.by == "shutdown":
                head_record.note_end(self._settings, ending)
            last_cells.leave(self._settings, self.world.cells.records(last=True))
        except Exception as error:  # noqa: BLE001 # the world has to end all the same
            supervision.here().fault("head.end", error)

    # ---- what clients ask and see

    @property
    def state(self) -> State:
        """State of the world: its members, and which rank runs which cell."""
        return self.world.state

    @property
    def handlers(self) -> Handlers:
        """Handlers of requests that only an owner can answer."""
        return {
            **self._requests.handlers,
            clients.Engines: self._engines.where,
            **self._cell_requests.handlers,
            clients.Diagnose: self._diagnoses.diagnose,
            clients.TryAdvice: self._diagnoses.try_advice,
            **self.world.advice.handlers,
        }

    @property
    def ordered(self) -> Ordered:
        """Handlers of requests about cells that are handled in the order of arrival."""
        return {clients.Run: self._cell_requests.run, clients.Follow: self._cell_requests.follow}

    def client_active(self) -> None:
        """A client has sent something to this head."""
        self.world.lifetime.reached()

    def cluster(self) -> Cluster:
        """Current snapshot of the cluster."""
        return self.world.cluster()

    def locate(self, rank: int, frame: Frame) -> tuple[str | None, str | None]:
        """Notebook and cell id for a stack frame; None if unknown."""
        running = self._cells.of_rank(rank)
        notebook = running.order.notebook if running is not None else None
        return self._cells.locate(frame.run, frame.cell or "", notebook)

    def _ask_ranks(self, order: links.ReadStacks) -> None:
        for rank in order.ranks:
            self._routes.to_rank(rank, order)

    def _ask_agents(self, order: links.ReadStacks) -> None:
        """Ask the agents: they can read the stack of a rank that holds the GIL, but not of a stopped one."""
        plan = self.world.plan
        if plan is not None:
            for index, _, mine in messages.by_node(plan, order.ranks):
                self._nodes.send(index, replace(order, ranks=mine))

    def tick(self, stuck: Verdict | None) -> None:
        """Called on each tick: check silent nodes, idle time and hangs."""
        self._nodes.check_silence()
        self.world.lifetime.check_idle()
        if stuck is not None:
            self.world.limits.check_hang(stuck)

    def record_point(self, point: Point) -> None:
        """Does nothing: a cluster's history ends with its head."""

    def _moved(self) -> None:
        self._engines.moved()
        self._mark_changed()

    # ---- link

    def received(self, peer: bytes, message: links.Message, frame: bytes) -> None:
        """Handle a message of a rank or an agent.

        Args:
            peer: Socket identity of the sender.
            message: The decoded message.
            frame: The same message as it arrived, which is what clients get of an output.
        """
        match message:
            case links.Samples(node):
                self._nodes.note_alive(node)
            case links.Completed():
                self._cell_requests.completed(message)
            case links.WidgetHandled():
                self._cell_requests.handled(message)
            case links.NodeHello() | links.Preloaded() | links.Listening() | links.Probed():
                self._nodes.received(peer, message)
                self._engines.received(message)
            case links.RankHello():
                self._ranks.received(peer, message, frame)
                self._engines.received(message)
            case links.Registered() | links.Forked(links.CONTROLLER) | links.Exited(links.CONTROLLER):
                self._engines.received(message)
            case _:
                self._ranks.received(peer, message, frame)
