"""History of a world's metrics: one point in time."""

from __future__ import annotations

from typing import Any

from dtrain_lab.wire.metrics.definitions import (
    At,
    Generation,
    LoopMetrics,
    MemoryBytes,
    NetworkBytesPerS,
    Step,
)


class Point(LoopMetrics, frozen=True):
    """Metrics of a cluster or a job at one time. Units are in the field names; unknown values are None.

    `values`: the user's values from `dt.log`, as of `step`.
    `slow`: ranks that are called slow; None if not known, as in histories of earlier versions.
    `lost`: ranks that are lost; None if not known, likewise.
    `own_s`: each rank's step without communication, of a cluster's last points only; empty if not kept.
    """

    at: At
    step: Step = None
    memory_bytes: MemoryBytes = None
    network_bytes_per_s: NetworkBytesPerS = None
    generation: Generation = 0
    values: dict[str, Any] = {}
    slow: tuple[int, ...] | None = None
    lost: tuple[int, ...] | None = None
    own_s: tuple[float | None, ...] = ()
