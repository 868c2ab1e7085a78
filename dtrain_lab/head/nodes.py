"""The nodes of a world, as its head sees them: agents that join, the network between them, their loss."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dtrain_lab.core import network as networks
from dtrain_lab.core.plan import Plan
from dtrain_lab.core.wire import VERSION, doors, links
from dtrain_lab.core.world import events as on
from dtrain_lab.errors import DtrainError
from dtrain_lab.head import orders, ports
from dtrain_lab.head.agents import Agents
from dtrain_lab.head.controller import SOCKETS, Controller
from dtrain_lab.head.network import Network

if TYPE_CHECKING:
    from dtrain_lab.head.main import Head

SILENT_S = 30.0
"""A node that was not heard of for so long is lost; a shorter silence is waited out."""
ENDED = ("ready", "degraded", "rebuilding", "paused")


class Nodes:
    """Starts the agents that are the head's own, welcomes the others.

    Args:
        head: whose nodes they are.
        link: URL of the head's link on its own node.
    """

    def __init__(self, head: Head, link: str) -> None:
        self._head = head
        self._link = link
        self._own = Agents(str(head.directory), link, self._own_ended)
        self._peers: dict[int, bytes] = {}
        self._hellos: dict[int, links.NodeHello] = {}
        self._heard: dict[int, float] = {}
        self._loaded: list[links.Preloaded] = []
        self._network: Network | None = None
        self._engines: asyncio.Task[None] | None = None
        self._controller: Controller | None = None

    @property
    def count(self) -> int:
        """Agents that are there."""
        return len(self._peers)

    def start(self, node: int, name: str, gpus: int, variables: dict[str, str]) -> None:
        """Start an agent on the head's own node."""
        self._own.start(node, name, gpus, variables, joins=self._head.settings.remote is not None)

    def expect(self, plan: Plan) -> None:
        """Agents of other machines will join: find a network once they have."""
        settings = self._head.settings.remote
        assert settings is not None
        self._network = Network(
            len(plan.nodes), settings.interface, settings.ports, self.say, self._connected, self._unfit
        )

    def say(self, node: int, message: links.Message) -> None:
        """Send an order to an agent."""
        self._head.link.send(self._peers[node], [links.encode(message)])

    @property
    def client_file(self) -> str:
        """What ipyparallel's clients connect by, and how often the controller has begun; or nothing yet."""
        if self._controller is None or not self._controller.client_file:
            return ""
        info = json.loads(self._controller.client_file)
        return json.dumps({**info, doors.BEGUN: 1 + self._controller.endings})

    def controller_ended(self) -> None:
        """It begins anew."""
        if self._controller is not None:
            self._controller.ended()

    def leave(self) -> None:
        """All agents end, with all that they have made."""
        for node in self._peers:
            self.say(node, links.Leave())

    async def close(self, within_s: float) -> None:
        """Wait for the head's own agents."""
        if self._engines is not None:
            self._engines.cancel()
        if self._controller is not None:
            self._controller.close()
        await self._own.close(within_s)

    def received(self, peer: bytes, message: links.Message) -> None:
        """An agent has said something about its node."""
        match message:
            case links.NodeHello():
                self._joined(peer, message)
            case links.Preloaded():
                self._preloaded(message)
            case links.Listening() if self._network is not None:
                self._network.listening(message)
            case links.Probed() if self._network is not None:
                self._network.probed(message)

    def heard(self, node: int) -> None:
        """A node's tick has come."""
        self._heard[node] = time.monotonic()

    def look(self) -> None:
        """Give up nodes of which nothing was heard for too long."""
        if self._network is None:
            return
        now = time.monotonic()
        for node, last in list(self._heard.items()):
            if now - last > SILENT_S:
                del self._heard[node]
                name = self._hellos[node].name
                ranks = self._lose(node, f"{name} has not been heard of for {SILENT_S:.0f} s")
                if ranks:  # it hears this once it is back, before any order to make new ones
                    self.say(node, links.Signal(ranks, signal.SIGKILL))

    def place(self, node: int) -> orders.Place:
        """What the ranks of a node share."""
        hello = self._hellos[node]
        local = hello.link == self._link
        address = self._address(0)
        return orders.Place(
            directory=hello.directory or str(self._head.directory),
            link=hello.link or self._link,
            engine=self._controller.engine_file if self._controller is not None else "",
            master_port=ports.free(address, 1, self._ports())[0],
            master_address=address,
            interface=self._interface(node),
            keys=None if local or self._head.curve is None else self._head.curve.keys,
        )

    # ----

    def _joined(self, peer: bytes, hello: links.NodeHello) -> None:
        if hello.version != VERSION:
            raise RuntimeError(
                f"node agent {hello.node} speaks version {hello.version}, this head {VERSION}: "
                "one environment, one dtrain-lab"
            )
        node = hello.node
        if node in self._peers:
            self._lose(node, f"the node agent of {hello.name} ended")
        self._peers[node] = peer
        self._hellos[node] = hello if hello.link else replace(hello, link=self._link)
        if self._network is None:
            return
        self._describe(node, hello)
        self._network.joined(hello)
        if self.count == len(self._plan.nodes):
            self._head.all_joined()

    def _describe(self, node: int, hello: links.NodeHello) -> None:
        """A scheduler chose the node: what it has is known only now."""
        plan = self._plan
        if hello.check is None:
            return
        facts = hello.check.facts
        known = replace(
            plan.nodes[node],
            name=hello.name,
            gpus=facts.gpus,
            threads=plan.cpus_per_rank or max(1, facts.cpus // plan.nodes[node].ranks),
        )
        nodes = tuple(known if index == node else other for index, other in enumerate(plan.nodes))
        own_gpu = all(n.gpus >= n.ranks for n in nodes)
        self._head.replan(replace(plan, nodes=nodes, collectives="cpu:gloo,cuda:nccl" if own_gpu else "gloo"))

    def _connected(self) -> None:
        assert self._network is not None
        nodes = tuple(
            replace(node, address=self._address(index)) for index, node in enumerate(self._plan.nodes)
        )
        self._head.replan(replace(self._plan, nodes=nodes))
        waiting, self._loaded = self._loaded, []
        for message in waiting:
            self._preloaded(message)

    def _unfit(self, error: DtrainError) -> None:
        self._head.membership.happened(on.NodeFailed(0, error.message.rstrip("."), error.hint))

    def _preloaded(self, message: links.Preloaded) -> None:
        head = self._head
        if message.error:
            name = self._hellos[message.node].name
            text = message.error if self._network is None else f"{name}: {message.error}"
            head.membership.happened(on.NodeFailed(message.node, text, message.hint))
            return
        if self._network is not None and not self._network.settled:
            self._loaded.append(message)
            return
        head.aggregate.preloaded_s = message.seconds
        head.aggregate.torch = message.torch
        head.aggregate.phase_ended("load")
        if message.node == 0:
            self._start_controller()
        head.membership.happened(on.NodeReady(message.node))

    def _start_controller(self) -> None:
        directory = Path(self._hellos[0].directory or self._head.directory)
        address = self._address(0)
        allowed = self._ports()
        chosen = ports.free(address, SOCKETS, allowed) if allowed is not None else ()
        place, log = self._head.directory / "ipp", directory / "controller.log"
        self._controller = Controller(lambda order: self.say(0, order), place, log, address, chosen)
        self._engines = asyncio.create_task(self._wait_for(self._controller))

    async def _wait_for(self, controller: Controller) -> None:
        await controller.start()
        self._head.membership.happened(on.EnginesReady())

    def _own_ended(self, node: int, code: int) -> None:
        if self._head.ending:
            return
        name = self._plan.nodes[node].name if self._head.plan else self._head.settings.node.name
        text = f"the node agent of {name} ended with code {code}"
        if node > 0 and self._head.membership.state.phase in ENDED:
            self._lose(node, text)
            planned = self._plan.nodes[node]
            self.start(node, planned.name, planned.gpus, self._plan.variables)
            return
        self._head.membership.happened(on.NodeFailed(node, text, "Its log has the details."))

    def _lose(self, node: int, why: str) -> tuple[int, ...]:
        """All ranks of a node are gone."""
        lost = []
        planned = self._plan.nodes[node]
        for rank in range(planned.first_rank, planned.first_rank + planned.ranks):
            pid = self._head.pid(rank)
            if pid is not None:
                lost.append(rank)
                self._head.forget(rank)
                self._head.membership.happened(on.RankExited(rank, pid, -signal.SIGKILL, how=why))
        return tuple(lost)

    @property
    def _plan(self) -> Plan:
        assert self._head.plan is not None
        return self._head.plan

    def _address(self, node: int) -> str:
        chosen = self._network.chosen.get(node) if self._network is not None else None
        return chosen.address if chosen is not None else "127.0.0.1"

    def _interface(self, node: int) -> str | None:
        chosen = self._network.chosen.get(node) if self._network is not None else None
        return chosen.name if chosen is not None else None

    def _ports(self) -> range | None:
        remote = self._head.settings.remote
        return networks.port_range(remote.ports) if remote is not None else None
