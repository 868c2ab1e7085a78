"""Nodes and ports of a job's start, from which each framework's variables are made."""

from __future__ import annotations

from msgspec import Struct


class Started(Struct, frozen=True):
    """Facts that are known when the ranks of a job start.

    `nodes`: address of each node, in order. `per_node`: ranks on each. `port`: first port of the job. On one
    machine those after it are free, too; elsewhere the agents look at those of their ranks.
    """

    nodes: tuple[str, ...]
    per_node: int
    port: int

    @property
    def size(self) -> int:
        """World size."""
        return len(self.nodes) * self.per_node

    def address(self, rank: int) -> str:
        """Address of a rank's process; each has its own port, because simulated nodes share a machine."""
        return f"{self.nodes[rank // self.per_node]}:{self.port + rank}"
