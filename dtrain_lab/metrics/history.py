"""History of a world's metrics: makes points, and exports them as CSV or scalars. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from math import nan
from typing import Any

from dtrain_lab.wire.cluster import Rank
from dtrain_lab.wire.metrics.definitions import LoopMetrics
from dtrain_lab.wire.metrics.history import Point
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.node_use import Node

METRICS = LoopMetrics.__struct_fields__
COLUMNS = ("at", "step", *METRICS, "memory_bytes", "network_bytes_per_s", "generation")
"""Columns of an exported table, before those of the user's values."""


def point(
    at: float, metrics: Metrics, ranks: Sequence[Rank], nodes: Sequence[Node], generation: int
) -> Point:
    """Make the history's point for a moment.

    Args:
        at: seconds since 1970.
        metrics: metrics of the world.
        ranks: ranks of the world.
        nodes: nodes of the world.
        generation: generation of the world, which grows each time its group is rebuilt.
    """
    measured = {name: getattr(metrics, name) for name in METRICS}
    return Point(
        at=at,
        step=max((r.step for r in ranks if r.step is not None), default=None),
        memory_bytes=max((m for r in ranks if (m := _memory(r)) is not None), default=None),
        network_bytes_per_s=max((n for node in nodes if (n := network_of(node)) is not None), default=None),
        generation=generation,
        values=metrics.values,
        slow=tuple(r.rank for r in ranks if r.slow),
        **measured,
    )


def _memory(rank: Rank) -> int | None:
    """Memory used on a rank's GPU, or by its process without a GPU, bytes."""
    return rank.device_memory_bytes if rank.device_memory_bytes is not None else rank.memory_bytes


def own_times(ranks: Sequence[Rank]) -> list[float]:
    """Return each rank's time of a step without communication, in seconds; NaN if unknown."""
    return [nan if r.step_s is None else r.step_s * (1 - (r.comm_overhead or 0.0)) for r in ranks]


def network_of(node: Node) -> float | None:
    """Bytes per second that a node sends and receives together; None if unknown."""
    if node.sent_bytes_per_s is None or node.received_bytes_per_s is None:
        return None
    return node.sent_bytes_per_s + node.received_bytes_per_s


def to_csv(points: Sequence[Point]) -> str:
    """Points as CSV, one line per point, with a column `values.NAME` for each of the user's values."""
    own = list(dict.fromkeys(name for p in points for name in p.values))
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow([*COLUMNS, *(f"values.{name}" for name in own)])
    for p in points:
        table.writerow([*(getattr(p, name) for name in COLUMNS), *(p.values.get(name) for name in own)])
    return out.getvalue()


def scalars(points: Sequence[Point]) -> list[tuple[str, float, int, float]]:
    """Points as (tag, value, step, seconds since 1970) for event files. Repeated user values are left out."""
    found: list[tuple[str, float, int, float]] = []
    told: dict[str, tuple[int, Any]] = {}
    for number, p in enumerate(points):
        step = p.step if p.step is not None else number
        for name in (*METRICS, "memory_bytes", "network_bytes_per_s"):
            value = getattr(p, name)
            if value is not None:
                found.append((f"dtrain/{name}", float(value), step, p.at))
        own = int(p.values.get("step", step)) if p.values else step
        for name, value in p.values.items():
            if name == "step" or not isinstance(value, (int, float)) or told.get(name) == (own, value):
                continue
            told[name] = (own, value)
            found.append((name, float(value), own, p.at))
    return found
