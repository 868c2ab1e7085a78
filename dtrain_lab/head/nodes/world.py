"""What the nodes of a world need of its owner."""

from __future__ import annotations

from typing import Protocol

from dtrain_lab.wire.kinds import WorldPhase
from dtrain_lab.world.events import Event


class NodesWorld(Protocol):
    """What `Nodes` needs of its world."""

    ending: bool

    @property
    def phase(self) -> WorldPhase:
        """Phase of the world."""

    def happened(self, event: Event) -> None:
        """Feed an event to the state machine."""

    def all_joined(self) -> None:
        """Called when all agents have joined."""

    def pid(self, rank: int) -> int | None:
        """Process id of a rank."""

    def forget(self, rank: int) -> None:
        """Drop what is known of a rank whose process is gone."""
