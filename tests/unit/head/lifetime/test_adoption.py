"""How long a head without a holder waits."""

from __future__ import annotations

from dtrain_lab.head.lifetime import lifetime
from dtrain_lab.head.metrics.collector import MetricsCollector
from dtrain_lab.head.metrics.snapshot import Snapshot
from dtrain_lab.wire.plan import NodeFacts
from dtrain_lab.wire.processes.settings import HeadSettings


def test_a_warm_head_waits_for_its_holder_for_a_moment_and_a_world_for_its_adoption() -> None:
    settings = HeadSettings("1", "", "", "", NodeFacts("here", "127.0.0.1", 2, 0, 1 << 30))
    snapshot = Snapshot("1", MetricsCollector())
    assert lifetime.adoption_s(settings, snapshot) == lifetime.WARM_S
    snapshot.name = "local-2"
    assert lifetime.adoption_s(settings, snapshot) == settings.adoption_s == 600
