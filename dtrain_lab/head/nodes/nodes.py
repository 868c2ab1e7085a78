"""The nodes of a world as the head sees them: agents that join, the network between them, their loss."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from dtrain_lab.errors import DtrainError
from dtrain_lab.head.metrics.snapshot import Snapshot
from dtrain_lab.head.nodes import agent_logs
from dtrain_lab.head.nodes.controller import SOCKETS, Controller
from dtrain_lab.head.nodes.local_agents import Agents
from dtrain_lab.head.nodes.network import Network
from dtrain_lab.head.nodes.world import NodesWorld
from dtrain_lab.head.ownership import messages
from dtrain_lab.machine.net import tcp
from dtrain_lab.placement import network as networks
from dtrain_lab.placement.layout import allocated
from dtrain_lab.wire import VERSION, links
from dtrain_lab.wire.codec import decode
from dtrain_lab.wire.kinds import WorldPhase
from dtrain_lab.wire.plan import Plan
from dtrain_lab.wire.processes.endpoints import Keys
from dtrain_lab.wire.processes.settings import HeadSettings
from dtrain_lab.world import events as on
from dtrain_lab.world.exits import how_it_ended

log = logging.getLogger("dtrain_lab.head")
SILENT_S = 30.0
"""A node that is silent for this many seconds is lost; a shorter silence is waited out."""
REPLACES_AGENTS: frozenset[WorldPhase] = frozenset({"ready", "degraded", "rebuilding"})
"""Phases in which another agent takes the place of one that ended; in others the world fails."""


class Nodes:
    """Starts the head's own agents, and accepts those of other machines.

    Args:
        world: The world of these nodes.
        settings: Settings of the head.
        snapshot: Holds the world's plan, and the progress of its start.
        link: URL of the head's link on its own node.
        send: Sends a message to an agent, by its name on the link.
    """

    keys: Keys | None = None
    """Keys for agents on other nodes; set once the head listens for them."""

    def __init__(
        self,
        world: NodesWorld,
        settings: HeadSettings,
        snapshot: Snapshot,
        link: str,
        send: Callable[[bytes, links.Message], None],
    ) -> None:
        self._world = world
        self._snapshot = snapshot
        self._settings = settings
        self._directory = Path(settings.directory)
        self._link = link
        self._send = send
        self._own = Agents(settings.directory, link, self._own_ended)
        self._started: dict[int, tuple[str, int, dict[str, str]]] = {}
        """Node of an own agent → its name, number of GPUs and environment variables."""
        self._master_port = 0
        self._peers: dict[int, bytes] = {}
        self._hellos: dict[int, links.NodeHello] = {}
        self._heard_at: dict[int, float] = {}
        self._loaded: list[links.Preloaded] = []
        self._network: Network | None = None

    @property
    def link_bytes_per_s(self) -> float | None:
        """Speed of the slowest node's network; None with one node, or where it is unknown."""
        return self._network.bytes_per_s if self._network is not None else None

    @property
    def count(self) -> int:
        """Number of agents that have joined."""
        return len(self._peers)

    def start(self, node: int, name: str, gpus: int, variables: dict[str, str]) -> None:
        """Start an agent on the head's own node.

        Args:
            node: Index of the node in the plan.
            name: Its name.
            gpus: Number of GPUs that it has.
            variables: Environment variables of the agent, which its ranks inherit.
        """
        settings = self._settings
        self._started[node] = name, gpus, variables
        inherits = settings.inherits and node == 0
        self._own.start(node, name, gpus, variables, joins=settings.remote is not None, inherits=inherits)

    def expect(self, plan: Plan) -> None:
        """Wait for agents of other machines, and check the network once all have joined."""
        settings = self._settings.remote
        assert settings is not None
        self._network = Network(
            len(plan.nodes), settings.interface, settings.ports, self.send, self._connected, self._unfit
        )

    def send(self, node: int, message: links.Message) -> None:
        """Send a message to a node's agent."""
        self._send(self._peers[node], message)

    def controller(self) -> Controller:
        """Make ipyparallel's controller, for the head's own node; it is not started.

        Raises:
            OSError: Too few ports of the profile's range are free.
        """
        directory = Path(self._hellos[0].directory or self._directory)
        address, allowed = self._address(0), self._ports()
        chosen = tcp.free(address, SOCKETS, allowed) if allowed is not None else ()
        place, log = self._directory / "ipp", directory / "controller.log"
        size = self._plan.size
        return Controller(lambda order: self.send(0, order), place, log, address, chosen, size)

    def leave(self, heir: str = "") -> None:
        """Tell all agents to exit with everything they have made.

        Args:
            heir: Socket at which another agent takes over the fork server of this node.
        """
        for node in self._peers:
            self.send(node, links.LeaveWorld(heir if node == 0 else ""))

    async def close(self, within_s: float, *, handing_on: bool = False) -> None:
        """Wait for the head's own agents.

        Args:
            within_s: Seconds after which those that still run are killed.
            handing_on: An agent first passes its fork server to another head's agent, which takes longer.
        """
        await self._own.close(within_s, handing_on=handing_on)

    def received(self, peer: bytes, message: links.Message) -> None:
        """Handle an agent's message about its node.

        Args:
            peer: Socket identity of the agent.
            message: The message.
        """
        match message:
            case links.NodeHello():
                self._joined(peer, message)
            case links.Preloaded():
                self._preloaded(message)
            case links.Listening() if self._network is not None:
                self._network.listening(message)
            case links.Probed() if self._network is not None:
                self._network.probed(message)

    def note_alive(self, node: int) -> None:
        """A node has sent its periodic samples."""
        self._heard_at[node] = time.monotonic()

    def check_silence(self) -> None:
        """Declare nodes lost that have been silent for `SILENT_S`."""
        if self._network is None:
            return
        now = time.monotonic()
        for node, last in list(self._heard_at.items()):
            if now - last > SILENT_S:
                del self._heard_at[node]
                name = self._hellos[node].name
                ranks = self._report_lost(node, f"{name} has not been heard from for {SILENT_S:.0f} s")
                if ranks:  # delivered once the node is back, before any order to fork new ranks
                    self.send(node, links.Signal(ranks, signal.SIGKILL))

    def resized(self, nodes: int) -> None:
        """The world has this many nodes now; agents of the others stay, without ranks and samples."""
        self._heard_at = {node: last for node, last in self._heard_at.items() if node < nodes}

    def node_settings(self, node: int) -> messages.NodeSettings:
        """Settings shared by all ranks of a node."""
        hello = self._hellos[node]
        local = hello.link == self._link
        address = self._address(0)
        self._master_port = self._master_port or tcp.free(address, 1, self._ports())[0]
        return messages.NodeSettings(
            directory=hello.directory or self._settings.directory,
            link=hello.link or self._link,
            master_port=self._master_port,
            master_address=address,
            interface=self._interface(node),
            keys=None if local else self.keys,
        )

    # ----

    def _joined(self, peer: bytes, hello: links.NodeHello) -> None:
        if hello.version != VERSION:
            text = (
                f"the node agent of {hello.name} uses protocol version {hello.version}, "
                f"but this head uses {VERSION}"
            )
            self._world.happened(on.NodeFailed(hello.node, text, decode.HINT))
            return
        log.info("node %s: the agent of %s is there, pid %s", hello.node, hello.name, hello.pid)
        node = hello.node
        if node in self._peers:
            self._report_lost(node, f"the node agent of {hello.name} ended")
        self._peers[node] = peer
        self._hellos[node] = hello if hello.link else replace(hello, link=self._link)
        if self._network is None:
            return
        if hello.check is not None and node < len(self._plan.nodes):
            self._snapshot.replan(allocated(self._plan, node, hello.name, hello.check.facts))
        self._network.joined(hello)
        if self.count == len(self._plan.nodes):
            self._world.all_joined()

    def _connected(self) -> None:
        assert self._network is not None
        nodes = tuple(
            replace(node, address=self._address(index)) for index, node in enumerate(self._plan.nodes)
        )
        self._snapshot.replan(replace(self._plan, nodes=nodes))
        waiting, self._loaded = self._loaded, []
        for message in waiting:
            self._preloaded(message)

    def _unfit(self, error: DtrainError) -> None:
        self._world.happened(on.NodeFailed(0, error.message.rstrip("."), error.hint))

    def _preloaded(self, message: links.Preloaded) -> None:
        if message.error:
            name = self._hellos[message.node].name
            text = message.error if self._network is None else f"{name}: {message.error}"
            self._world.happened(on.NodeFailed(message.node, text, message.hint))
            return
        if self._network is not None and not self._network.settled:
            self._loaded.append(message)
            return
        self._snapshot.loaded(message.seconds)
        self._world.happened(on.NodeReady(message.node))

    def _own_ended(self, node: int, code: int) -> None:
        if self._world.ending:
            return
        how = how_it_ended(code)
        text = f"the node agent of {self._started[node][0]} {f'was {how}' if code < 0 else how}"
        if node > 0 and self._world.phase in REPLACES_AGENTS:
            self._report_lost(node, text)
            self.start(node, *self._started[node])
            return
        self._world.happened(on.NodeFailed(node, text, agent_logs.copy_log(self._settings, node)))

    def _report_lost(self, node: int, why: str) -> tuple[int, ...]:
        """Report all ranks of a node as exited; returns those that had a process."""
        lost: list[int] = []
        if node >= len(self._plan.nodes):  # a resize has removed its ranks
            return ()
        planned = self._plan.nodes[node]
        for rank in range(planned.first_rank, planned.first_rank + planned.ranks):
            pid = self._world.pid(rank)
            if pid is not None:
                lost.append(rank)
                self._world.forget(rank)
                self._world.happened(on.RankExited(rank, pid, -signal.SIGKILL, how=why))
        return tuple(lost)

    @property
    def _plan(self) -> Plan:
        assert self._snapshot.plan is not None
        return self._snapshot.plan

    def _address(self, node: int) -> str:
        chosen = self._network.chosen.get(node) if self._network is not None else None
        return chosen.address if chosen is not None else "127.0.0.1"

    def _interface(self, node: int) -> str | None:
        chosen = self._network.chosen.get(node) if self._network is not None else None
        return chosen.name if chosen is not None else None

    def _ports(self) -> range | None:
        remote = self._settings.remote
        return networks.port_range(remote.ports) if remote is not None else None
