"""Two nodes between which a speed is measured: which, where they meet, and what came of it."""

from __future__ import annotations

import random
import secrets

import msgspec
from msgspec import Struct

from dtrain_lab.core import network
from dtrain_lab.core.fitness import Check
from dtrain_lab.core.network import Between, Speed
from dtrain_lab.core.profile import Profile


class Pair(Struct, frozen=True):
    """The nodes, and the words that start the measurement on both (`dtrain_lab.node.speed`)."""

    first: str
    second: str
    interface: str
    words: tuple[str, ...]
    ports: str | None

    @classmethod
    def of(cls, checks: dict[str, Check], profile: Profile) -> Pair | None:
        """The first two of some nodes; None where there is one only.

        Raises:
            StartFailed: a node has no interface that leads to the others.
        """
        if len(checks) < 2:
            return None
        first, second = list(checks)[:2]
        found = network.choose({n: c.interfaces for n, c in checks.items()}, profile.network.interface)
        port = random.choice(network.port_range(profile.network.ports) or network.PORTS)
        words = ("dtrain_lab.node", "speed", found[first].address, str(port), secrets.token_hex(8))
        return cls(first, second, found[first].name, words, profile.network.ports)

    def measured(self, out: bytes) -> Between:
        """What the second has printed.

        Raises:
            StartFailed: it could not reach the first.
        """
        lines = [line for line in out.splitlines() if line.startswith(b"{")]
        if not lines:
            raise network.blocked({self.second: [self.first]}, self.ports)
        return Between(self.first, self.second, self.interface, msgspec.json.decode(lines[-1], type=Speed))
