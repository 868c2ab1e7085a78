"""Network check before ranks are made on several nodes: picks an interface for each, probes every pair."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from dtrain_lab.errors import DtrainError, StartFailed
from dtrain_lab.placement import compatibility, network
from dtrain_lab.wire import links
from dtrain_lab.wire.node_check import Interface


class Network:
    """Has all agents listen and probe each other, once all have joined.

    Args:
        nodes: Number of nodes.
        wanted: The profile's network interface.
        ports: The profile's port range, as written there.
        send: Sends a message to a node's agent.
        ready: Called once, when every node can reach every other.
        failed: Called with the error.
    """

    def __init__(
        self,
        nodes: int,
        wanted: str | None,
        ports: str | None,
        send: Callable[[int, links.Message], None],
        ready: Callable[[], None],
        failed: Callable[[DtrainError], None],
    ) -> None:
        self._nodes = nodes
        self._wanted = wanted
        self._ports = ports
        self._send = send
        self._ready = ready
        self._failed = failed
        self._hellos: dict[int, links.NodeHello] = {}
        self._targets: dict[int, links.Target] = {}
        self._probed: dict[int, tuple[int, ...]] = {}
        self._nonces = {node: secrets.token_hex(8) for node in range(nodes)}
        self.chosen: dict[int, Interface] = {}
        self.settled = nodes == 1
        """The check is done, or not needed with one node."""

    def joined(self, hello: links.NodeHello) -> None:
        """An agent has joined; with the last one the check starts."""
        self._hellos[hello.node] = hello
        if self.chosen or len(self._hellos) < self._nodes:
            return
        checks = {h.name: h.check for _, h in sorted(self._hellos.items()) if h.check is not None}
        wrong = compatibility.unfit(checks, "torch")
        if wrong is not None:
            self._failed(wrong)
            return
        if self.settled:
            return
        names = {name: check.interfaces for name, check in checks.items()}
        try:
            chosen = network.choose(names, self._wanted)
            allowed = network.port_range(self._ports)
        except DtrainError as error:
            self._failed(error)
            return
        self.chosen = {node: chosen[self._name(node)] for node in self._hellos}
        for node, interface in self.chosen.items():
            self._send(node, links.Listen(interface.address, self._nonces[node], tuple(allowed or ())))

    def listening(self, message: links.Listening) -> None:
        """A node listens; once all do, they probe each other."""
        node = message.node
        if message.error:
            text = f"{self._name(node)} can't listen at {self.chosen[node].address}: {message.error}."
            self._failed(StartFailed(text, "Check [network] ports in the profile.", code="no_port"))
            return
        self._targets[node] = links.Target(node, self.chosen[node].address, message.port, self._nonces[node])
        if len(self._targets) == self._nodes:
            for other in self._targets:
                targets = tuple(t for t in self._targets.values() if t.node != other)
                self._send(other, links.Probe(targets))

    def probed(self, message: links.Probed) -> None:
        """A node has probed all others."""
        self._probed[message.node] = message.blocked
        if len(self._probed) < self._nodes or self.settled:
            return
        self.settled = True
        for node in self._probed:
            self._send(node, links.StopListening())
        pairs = {
            self._name(node): [self._name(other) for other in blocked]
            for node, blocked in sorted(self._probed.items())
            if blocked
        }
        if pairs:
            self._failed(network.blocked(pairs, self._ports))
        else:
            self._ready()

    @property
    def bytes_per_s(self) -> float | None:
        """Speed of the slowest chosen interface, as its driver states it; None if one doesn't."""
        speeds = [interface.speed for interface in self.chosen.values()]
        return min(speeds) * 1e6 / 8 if speeds and all(speeds) else None

    def _name(self, node: int) -> str:
        return self._hellos[node].name
