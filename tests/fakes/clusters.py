"""Clusters with figures, for tests of what is derived from them."""

from __future__ import annotations

from typing import Any

from dtrain_lab.metrics.advice.measured import measured
from dtrain_lab.wire.cluster import Cluster, World
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.node_use import HostUse
from dtrain_lab.wire.summary import Summary

SAMPLES = [
    RankSample(rank=r, synced=True, gradient_item=4, hooked=False, loader_workers=0, averaging_s=0.05 + r)
    for r in range(2)
]


METRICS = Metrics(
    samples_per_s=2560.0,
    step_s=0.1,
    data_s=0.0,
    transfer_s=0.04,
    wait_s=0.0,
    comm_overhead=0.4,
    comm_overhead_error=0.02,
    gradient_bytes=24_000_000,
)


BOUND = measured(METRICS, SAMPLES, 2, [HostUse(cores=8, cpu_utilization=0.3)])
"""Communication takes 40 % of a step, and 10 ms of averaging are hidden by computation."""


def cluster(size: int = 2, **changes: Any) -> Cluster:
    """A cluster as far as advice looks at it."""
    return Cluster(
        "id", "name", "local", "ready", None, Summary("ready", {}, ""), World(size, 0), (), (),
        Metrics(**changes), (), (), "me", (), 0.0,
    )  # fmt: skip
