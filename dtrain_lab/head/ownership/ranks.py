"""The ranks of a cluster: forks them, tells them what to do, handles their messages."""

from __future__ import annotations

import logging

from dtrain_lab.head.cells.cells import Cells
from dtrain_lab.head.cells.rank_output import RankOutput
from dtrain_lab.head.debug_broker import DebugBroker
from dtrain_lab.head.membership import Membership
from dtrain_lab.head.metrics.collector import MetricsCollector
from dtrain_lab.head.metrics.snapshot import Snapshot
from dtrain_lab.head.nodes.nodes import Nodes
from dtrain_lab.head.ownership import messages
from dtrain_lab.head.ownership.rank_routes import RankRoutes
from dtrain_lab.wire import VERSION, clients, links
from dtrain_lab.wire.codec import decode
from dtrain_lab.wire.plan import Plan
from dtrain_lab.wire.stacks import Where
from dtrain_lab.world import events as on
from dtrain_lab.world.rendezvous import Store

log = logging.getLogger("dtrain_lab.head")


class Ranks:
    """All ranks of a cluster.

    Args:
        identity: Id of the world.
        collector: Has the world's plan, and the metrics of its ranks.
        snapshot: Has the world's name, and the phases of its start.
        routes: Ways to send messages to ranks.
        debugger: Is told which ranks are gone.
        membership: Receives the events that follow from ranks' messages.
        cells: Cells of the world.
        nodes: Nodes of the world.
    """

    def __init__(
        self,
        identity: str,
        collector: MetricsCollector,
        snapshot: Snapshot,
        routes: RankRoutes,
        debugger: DebugBroker,
        membership: Membership,
        cells: Cells,
        nodes: Nodes,
    ) -> None:
        self._id = identity
        self._collector, self._snapshot, self._routes = collector, snapshot, routes
        self._debugger = debugger
        self._membership = membership
        self._cells = cells
        self._nodes = nodes
        self._store = Store(self._routes.to_rank)
        self._output = RankOutput(cells, self._routes, self._to_agent)
        self._groups: messages.Groups = {}
        self._operations: dict[int, str] = {}
        """Rank → the collective that it was in when it was interrupted."""

    @property
    def _plan(self) -> Plan | None:
        return self._collector.plan

    def fork(self, ranks: tuple[int, ...]) -> None:
        """Fork processes for ranks."""
        assert self._plan is not None
        self._snapshot.phase_began("fork")
        for index, node, mine in messages.by_node(self._plan, ranks):
            self.acquire_slots(index, node.ranks)
            settings = self._nodes.node_settings(index)
            specs = tuple(messages.rank_spec(self._plan, settings, index, node, rank) for rank in mine)
            self._nodes.send(index, links.Fork(specs))
        self._cells.forked(ranks)
        for rank in ranks:
            self._collector.forget(rank)
            self._store.forget(rank)

    def acquire_slots(self, node: int, ranks: int) -> None:
        """Show this cluster as the holder of slots on our own nodes; a scheduler assigns slots itself.

        Args:
            node: Index of the node in the plan.
            ranks: Number of slots, one per rank.
        """
        assert self._plan is not None
        if not self._plan.traits.schedules:
            self._nodes.send(node, links.ReserveSlots(self._id, self._snapshot.name, ranks))

    def form(self, generation: int, joining: tuple[int, ...]) -> None:
        """Tell all ranks to form a generation's group; newcomers learn the groups that survivors have."""
        assert self._plan is not None
        self._snapshot.phase_ended("fork")
        self._snapshot.phase_began("connect")
        self._collector.unpointed.clear()
        self._store.drop(f"gen{generation - 1}/")
        for rank, order in messages.form(self._plan, generation, joining, self._groups):
            self._routes.to_rank(rank, order)
        for rank in joining:
            self._groups.pop(rank, None)

    def signal(self, plan: Plan, ranks: tuple[int, ...], number: int) -> None:
        """Send a signal to ranks, located by the given plan.

        Args:
            plan: Tells on which node each rank is.
            ranks: The ranks.
            number: Number of the signal.
        """
        self._note_operations(ranks)
        for index, _, keys in messages.by_node(plan, ranks):
            self._nodes.send(index, links.Signal(keys, number))

    def abort(self, ranks: tuple[int, ...], hooks: bool) -> None:
        """Abort the collectives that ranks wait in, and with `hooks` what backward runs in other threads."""
        self._note_operations(ranks)
        for rank in ranks:
            self._routes.to_rank(rank, links.Abort(hooks))

    def resized(self, plan: Plan) -> None:
        """Forget the process groups of the old size, and hold slots for the new one."""
        self._groups.clear()
        for index, node in enumerate(plan.nodes):
            self.acquire_slots(index, node.ranks)

    def begin(self, ranks: tuple[int, ...], order: clients.Run | None) -> None:
        """Reset what belongs to the previous cell of these ranks.

        Args:
            ranks: The ranks.
            order: The cell that begins; without code, a diagnosis. None for a view's call.
        """
        self._operations = {r: o for r, o in self._operations.items() if r not in ranks}
        self._collector.unpointed.clear()
        self._collector.values.cell_began(ranks)
        code, where = "", None
        if order is not None:
            code, where = order.code, Where(order.notebook, order.label, cell_kind=order.kind)
        self._collector.cell_began(ranks, code, where)

    def received(self, peer: bytes, message: links.Message, frame: bytes) -> None:
        """Handle a message of a rank, or of an agent about a rank.

        Args:
            peer: Socket identity of the sender.
            message: The decoded message.
            frame: The same message as it arrived.
        """
        match message:
            case links.CellOutput():
                self._output.received(message, frame)
            case links.ValuesLogged(rank, step, _, values, averaged):
                self._collector.values.logged(rank, step, values, averaged=averaged)
            case links.StoreCall():
                self._store.call(message)
            case links.CellReply():
                self._replied(message)
            case links.RankHello():
                self._joined(peer, message)
            case links.GroupFormed():
                self._formed(message)
            case links.Forked(rank, pid):
                self._membership.happened(on.RankForked(rank, pid))
            case links.Exited():
                self._exited(message)
            case links.OutputStalled():
                self._output.output_stalled(message)
            case links.PendingOutput(rank, pid) if self.pid(rank) == pid:
                self._output.pending_output(message)

    def pid(self, rank: int) -> int | None:
        """Process id of a rank."""
        members = self._membership.state.members
        return members[rank].pid if rank < len(members) else None

    def forget(self, rank: int) -> None:
        """Drop what is known of a rank whose process is gone."""
        self._routes.gone(rank)
        self._store.forget(rank)
        self._collector.forget(rank)
        self._output.forget(rank)
        self._debugger.forget(rank)

    def _to_agent(self, rank: int, message: links.Message) -> None:
        if self._plan is not None:
            for index, _, _ in messages.by_node(self._plan, (rank,)):
                self._nodes.send(index, message)

    def _joined(self, peer: bytes, message: links.RankHello) -> None:
        if message.version != VERSION:
            text = (
                f"rank {message.rank} uses protocol version {message.version}, but this head uses {VERSION}"
            )
            self._membership.happened(on.NodeFailed(0, text, decode.HINT))
            return
        self._routes.joined(message.rank, peer)
        self._membership.happened(on.RankJoined(message.rank, message.pid))

    def _formed(self, message: links.GroupFormed) -> None:
        rank, generation = message.rank, message.generation
        if message.error:
            self._membership.happened(on.GroupFailed(rank, generation, message.error))
            return
        self._groups[rank] = (message.groups, message.group_count)
        if message.unpointed:
            self._collector.unpointed[rank] = message.unpointed
        self._membership.happened(on.GroupFormed(rank, generation))

    def _exited(self, message: links.Exited) -> None:
        if self.pid(message.key) == message.pid:
            self._routes.read_last(message.key)
            self._output.exited(message)
            self._cells.called(message.key, message.calls)
            self.forget(message.key)
        log.info("rank %s (pid %s) ended with code %s", message.key, message.pid, message.code)
        self._membership.happened(
            on.RankExited(message.key, message.pid, message.code, message.last, message.how, message.fault)
        )

    def _replied(self, reply: links.CellReply) -> None:
        self._groups[reply.rank] = (reply.groups, reply.group_count)
        if reply.steps is not None:
            self._collector.loops.replied(reply.rank, reply.steps)
        self._cells.reply(reply, self._operations.pop(reply.rank, None))
        self._membership.happened(on.CellReplied(reply.rank, reply.kind, reply.has_group, reply.sequence))

    def _note_operations(self, ranks: tuple[int, ...]) -> None:
        for sample in self._collector.waiting(self._membership.state):
            if sample.rank in ranks and sample.operation:
                self._operations.setdefault(sample.rank, sample.operation)
