"""History of a world's metrics: one point in time."""

from __future__ import annotations

from typing import Any

from dtrain_lab.wire.metrics.figures import Figures


class Point(Figures, frozen=True):
    """Metrics of a world at one time. Units are in the field names; unknown values are None.

    `at`: seconds since 1970. `memory_bytes`: of the rank that uses most. `network_bytes_per_s`: sent and
    received by the busiest node. `values`: the user's values from `dt.log`, as of `step`.
    `slow`: ranks that are called slow; None if not known, as in histories of earlier versions.
    `own_s`: each rank's step without communication, of a cluster's last points only; empty if not kept.
    """

    at: float
    step: int | None = None
    memory_bytes: int | None = None
    network_bytes_per_s: float | None = None
    generation: int = 0
    values: dict[str, Any] = {}
    slow: tuple[int, ...] | None = None
    own_s: tuple[float | None, ...] = ()
