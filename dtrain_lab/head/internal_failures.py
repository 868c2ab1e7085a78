"""Failures of background work in this head and in the agents of its nodes, as clients see them."""

from __future__ import annotations

from dtrain_lab.machine import supervision
from dtrain_lab.wire import links
from dtrain_lab.wire.loop_failures import InternalFailure, merged


class InternalFailures:
    """Collects them; the same for clusters and jobs."""

    def __init__(self) -> None:
        self._of_agents: dict[int, tuple[InternalFailure, ...]] = {}
        """Node → all failures of its agents until now."""

    def reported(self, message: links.LoopFailed) -> None:
        """An agent has reported its failures."""
        self._of_agents[message.node] = message.troubles

    @property
    def all(self) -> tuple[InternalFailure, ...]:
        """Those of this process and of all agents: one entry per name, the latest first."""
        return merged(supervision.here().failures, *self._of_agents.values())
