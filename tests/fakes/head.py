"""A cluster's head without sockets and processes: tests play its agents, ranks and clients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dtrain_lab.head.cells.client_queues import ClientQueues
from dtrain_lab.head.cells.journal import Journal
from dtrain_lab.head.debug_broker import DebugBroker
from dtrain_lab.head.metrics.collector import MetricsCollector
from dtrain_lab.head.metrics.snapshot import Snapshot
from dtrain_lab.head.ownership.owner import Owner
from dtrain_lab.head.ownership.rank_ownership import Parts
from dtrain_lab.head.ownership.rank_routes import RankRoutes
from dtrain_lab.wire import clients, links
from dtrain_lab.wire.plan import NodeFacts, NodePlan, Plan, Request
from dtrain_lab.wire.processes.head_record import Server
from dtrain_lab.wire.processes.settings import HeadSettings, SubmittedHead
from dtrain_lab.world import events as on

IDLE_S = 1800.0
SERVER = Server(4, 2.5)
"""The Jupyter server of the client that starts the cluster."""


def plan(nodes: int, ranks: int) -> Plan:
    """A plan of equal nodes."""
    places = tuple(NodePlan(f"node{n}", "127.0.0.1", n * ranks, ranks, 0, 1) for n in range(nodes))
    return Plan("here", "local", places, "python", {}, "/", "gloo", monitor=True)


def launch(ranks: int = 2, nodes: int = 1) -> clients.Launch:
    """The order to launch a cluster with this number of nodes, and of ranks on each."""
    return clients.Launch(plan(nodes, ranks), Request(), "w", "me", SERVER.pid, server_started=SERVER.started)


def head_settings(folder: Path, order: clients.Launch | None) -> HeadSettings:
    """Settings of a cluster's head.

    Args:
        folder: Folder of the head.
        order: What a scheduler's head launches; None for a head on this machine.
    """
    far = order and SubmittedHead(order, str(folder / "endpoints"), own_agent=False, idle_s=IDLE_S)
    facts = NodeFacts("node0", "127.0.0.1", 2, 0, 1 << 30)
    return HeadSettings("w", str(folder), str(folder / "record"), "", facts, remote=far)


class Owned:
    """An owner whose ranks are this object's.

    Args:
        folder: Folder of the head.
        ranks: Ranks of each node.
        nodes: Number of nodes.
        remote: The cluster is on other machines, so that it ends when it is idle for `IDLE_S`.
    """

    def __init__(self, folder: Path, ranks: int = 2, nodes: int = 1, *, remote: bool = True) -> None:
        self.told: list[tuple[bytes, links.Message]] = []
        """Each message to an agent or a rank, with its name on the link: "n0", "r0"."""
        collector = MetricsCollector()
        routes = RankRoutes(self._to_peer, lambda _: None)
        self.results: list[Any] = []
        self._journal = journal = Journal(folder)
        client_queues = ClientQueues(self._to_client, journal, lambda: None)
        debugger = DebugBroker(routes, client_queues.send, lambda _: None)
        self.snapshot = Snapshot("w", collector)
        parts = Parts(
            "ipc://link",
            collector,
            self.snapshot,
            routes,
            journal,
            client_queues,
            debugger,
            lambda: None,
            lambda: None,
        )
        order = launch(ranks, nodes)
        self.owner = Owner(head_settings(folder, order if remote else None), parts)
        self.owned = self.owner.world
        self.cells, self.client_queues = self.owned.cells, client_queues
        self.pids = 100
        self.owned.launch(order)
        if self.owned.nodes._network is not None:
            self.owned.nodes._network.settled = True
        for node in range(nodes):
            self.owner.received(b"n%d" % node, links.NodeHello(node, f"node{node}", 50 + node), b"")
            self.owned.happened(on.NodeReady(node))
        self.joins(*range(self.owner.state.size))
        self.forms()

    def _to_peer(self, peer: bytes, frames: list[bytes]) -> None:
        decode = links.decode_to_agent if peer.startswith(b"n") else links.decode_to_rank
        self.told.append((peer, decode(frames[0])))

    def _to_client(self, _: bytes, frames: list[bytes]) -> Any:
        self.results += [clients.decode_to_client(frame) for frame in frames]
        return "sent"

    def resizes(self, nodes: int) -> None:
        """A client asks for this number of nodes."""
        assert self.owned.plan is not None
        self.owned.resize(plan(nodes, self.owned.plan.nodes[0].ranks))

    def joins(self, *ranks: int) -> None:
        """New processes of these ranks connect."""
        for rank in ranks:
            self.pids += 1
            self.owner.received(b"n0", links.Forked(rank, self.pids), b"")
            self.owner.received(b"r%d" % rank, links.RankHello(rank, self.pids), b"")

    def forms(self) -> None:
        """All ranks form the group that the head asked for."""
        state = self.owner.state
        for member in state.members:
            self.owner.received(b"", links.GroupFormed(member.rank, state.generation), b"")

    def dies(self, *ranks: int) -> None:
        """The processes of these ranks end."""
        for rank in ranks:
            pid = self.owned.pid(rank)
            assert pid is not None
            self.owner.received(b"n0", links.Exited(rank, pid, -9), b"")

    def run(self, cell: str, *ranks: int) -> None:
        """A client runs a cell."""
        order = clients.Run(cell=cell, code="pass", label=cell, ranks=ranks)
        self.owner.ordered[clients.Run](b"c", order)

    def replies(self, cell: str, *ranks: int, kind: Any = "ok") -> None:
        """Ranks end a cell."""
        for rank in ranks:
            self.owner.received(b"", links.CellReply(cell=cell, rank=rank, kind=kind), b"")

    async def ask(self, body: Any) -> Any:
        """A client's request."""
        return await self.owner.handlers[type(body)](b"c", body)

    def began(self, cell: str) -> tuple[int, ...]:
        """Ranks that were told to run a cell."""
        return tuple(
            int(peer[1:]) for peer, m in self.told if isinstance(m, links.Execute) and m.cell == cell
        )

    def close(self) -> None:
        """End its timers."""
        self.owned.membership.close()
        self._journal.close()
