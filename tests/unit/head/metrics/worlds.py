"""A world of ranks that report samples."""

from __future__ import annotations

import pytest

from dtrain_lab.head.metrics import collector
from dtrain_lab.head.metrics.collector import MetricsCollector
from dtrain_lab.head.metrics.snapshot import Snapshot
from dtrain_lab.wire.cells import RunningCell
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.world import Epoch
from dtrain_lab.wire.node_use import HostUse
from dtrain_lab.wire.plan import NodePlan, Plan
from dtrain_lab.world.members import Member, Members
from dtrain_lab.world.state import State

TICK_S = 0.25


RUNNING = (RunningCell("[3]", "/home/me/train.ipynb", (0, 1), 0.0),)


class World:
    """Two ranks that train, as their head sees them."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        patch.setattr(collector.time, "monotonic", lambda: self.now)
        self.collector = MetricsCollector()
        self.head = Snapshot("x", self.collector)
        node = NodePlan("box", "127.0.0.1", first_rank=0, ranks=2, gpus=0, threads=2)
        self.collector.plan = Plan("local", "local", (node,), "", {}, "", "gloo", monitor=True)
        self.head.preloaded_s = 1.0
        self.steps = 0
        self.state = self._state(cell="c")
        self.collector.cell_began((0, 1), "for batch in loader: ...")

    def _state(self, cell: str | None, *, interrupted: bool = False) -> State:
        members = (Member(r, 100 + r, True, 0, cell, "c", interrupted) for r in (0, 1))
        return State("ready", members=Members(members))

    def tick(
        self,
        exposed: tuple[float, float],
        runnable: float = 2.0,
        more: int = 5,
        bound: str = "",
        error: float = 0.001,
    ) -> Cluster:
        self.now += TICK_S
        self.steps += more
        samples = [
            RankSample(
                rank=r,
                step=self.steps,
                step_s=0.05,
                samples_per_s=640.0,
                exposed_s=x,
                exposed_error_s=error,
                synced=True,
                batch=32,
                epoch=Epoch(1, 20, 100, split=True),
                bound=bound,
            )
            for r, x in enumerate(exposed)
        ]
        self.collector.sampled(samples, 0, HostUse(2, 1.0, runnable=runnable))
        return self.look()

    def look(self) -> Cluster:
        return self.head.cluster(self.state, RUNNING if self.state.busy else (), ())

    def ends(self) -> None:
        self.state = self._state(cell=None)

    def is_interrupted(self) -> None:
        self.state = self._state(cell="c", interrupted=True)
