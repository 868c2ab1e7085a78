"""Measurement of the network speed between two nodes: choice of the pair, its commands, and the result."""

from __future__ import annotations

import random
import secrets

import msgspec
from msgspec import Struct

from dtrain_lab.placement import network
from dtrain_lab.wire.node_check import Between, Check, Speed
from dtrain_lab.wire.profile import Profile


class Pair(Struct, frozen=True):
    """The two nodes, and the commands that start `dtrain_lab.node.network_speed` on them."""

    first: str
    second: str
    interface: str
    command: tuple[str, ...]
    ports: str | None

    @classmethod
    def of(cls, checks: dict[str, Check], profile: Profile) -> Pair | None:
        """Return the first two nodes; None if there is only one.

        Args:
            checks: Results of the nodes' checks, by name, with the interfaces that they have.
            profile: Its network section chooses interface and ports.

        Raises:
            StartFailed: A node has no interface to the others.
        """
        if len(checks) < 2:
            return None
        first, second = list(checks)[:2]
        interfaces = network.choose({n: c.interfaces for n, c in checks.items()}, profile.network.interface)
        port = random.choice(network.port_range(profile.network.ports) or network.PORTS)
        command = ("dtrain_lab.node", "speed", interfaces[first].address, str(port), secrets.token_hex(8))
        return cls(first, second, interfaces[first].name, command, profile.network.ports)

    def measured(self, out: bytes) -> Between:
        """Parse the output of the second node.

        Raises:
            StartFailed: The second node could not connect to the first.
        """
        lines = [line for line in out.splitlines() if line.startswith(b"{")]
        if not lines:
            raise network.blocked({self.second: [self.first]}, self.ports)
        return Between(self.first, self.second, self.interface, msgspec.json.decode(lines[-1], type=Speed))
