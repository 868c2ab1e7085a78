"""Ownership of the ranks: the head's (`owner`), or that of a launcher that it observes (`observer`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from dtrain_lab.head.cells.client_queues import ClientQueues
from dtrain_lab.head.cells.journal import Journal
from dtrain_lab.head.debug_broker import DebugBroker
from dtrain_lab.head.internal_failures import InternalFailures
from dtrain_lab.head.listen import ListenSettings
from dtrain_lab.head.metrics.collector import MetricsCollector
from dtrain_lab.head.metrics.snapshot import Snapshot
from dtrain_lab.head.ownership.rank_routes import RankRoutes
from dtrain_lab.head.requests import Handlers, Ordered
from dtrain_lab.wire import links
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.metrics.history import Point
from dtrain_lab.wire.metrics.verdicts import Verdict
from dtrain_lab.wire.processes.endpoints import Keys
from dtrain_lab.wire.stacks import Frame
from dtrain_lab.world import State


@dataclass(frozen=True)
class Parts:
    """The parts of a head that do not depend on who owns the ranks."""

    link: str
    """URL of the head's link on its own node."""
    collector: MetricsCollector
    snapshot: Snapshot
    routes: RankRoutes
    journal: Journal
    client_queues: ClientQueues
    debugger: DebugBroker
    mark_changed: Callable[[], None]
    """Marks the world as changed, so that watchers are notified with the next tick."""
    before_cell: Callable[[], None]
    """Called before a cell begins, while the values of the previous cell still exist."""
    failures: InternalFailures = field(default_factory=InternalFailures)


class StackReader(NamedTuple):
    """Reads stacks of ranks. `within_s`: seconds that it may take; None: as long as the request."""

    read: Callable[[links.ReadStacks], None]
    within_s: float | None = None


class RankOwnership(Protocol):
    """What a head does depending on who owns its ranks."""

    tick_s: float
    """Seconds between ticks."""
    point_s: float
    """Seconds between points of the history."""
    idle_point_s: float | None
    """The same while nothing trains, for charts; None for no such points."""
    stack_readers: tuple[StackReader, ...]
    """Readers of stacks; each after the first is asked for ranks that earlier ones could not read in time."""
    listens: ListenSettings | None
    """Where other nodes and users' machines find the head; None if only this node needs it."""

    @property
    def state(self) -> State:
        """State of the world: its members, and which rank runs which cell."""

    @property
    def handlers(self) -> Handlers:
        """Handlers of requests that only such a world answers."""

    @property
    def ordered(self) -> Ordered:
        """Handlers of requests that are handled in the order of arrival."""

    def cluster(self) -> Cluster:
        """Current snapshot of the world."""

    def received(self, peer: bytes, message: links.Message, frame: bytes) -> None:
        """Handle a message of an agent or a rank.

        Args:
            peer: The sender's name on the link.
            message: The decoded message.
            frame: The message as it arrived, to be forwarded without encoding it again.
        """

    def tick(self, stuck: Verdict | None) -> None:
        """Called on each tick; `stuck`: the verdict on a hang, if there is one."""

    def record_point(self, point: Point) -> None:
        """Keep a point of the history beyond the head's lifetime, as an observer does."""

    def locate(self, rank: int, frame: Frame) -> tuple[str | None, str | None]:
        """Find the notebook and the cell of a stack frame.

        Args:
            rank: Number of the rank whose frame it is.
            frame: The frame.

        Returns:
            Path of the notebook and id of the cell; None for what is unknown.
        """

    def client_active(self) -> None:
        """A client has sent something to this head."""

    async def run(self, keys: Keys | None) -> None:
        """Own or observe the ranks until the world has ended."""
