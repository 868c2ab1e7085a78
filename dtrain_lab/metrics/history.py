"""History of a world's metrics: makes points, and exports them as CSV or scalars. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from dtrain_lab.wire.metrics.definitions import LoopMetrics
from dtrain_lab.wire.metrics.history import Point
from dtrain_lab.wire.metrics.world import Metrics

METRICS = LoopMetrics.__struct_fields__
MEASURED = ("step", *METRICS, "memory_bytes", "network_bytes_per_s")
"""Metrics of a world that its history keeps."""
COLUMNS = ("at", *MEASURED, "generation")
"""Columns of an exported table, before those of the user's values."""


def point(
    at: float, metrics: Metrics, slow: tuple[int, ...], generation: int, lost: tuple[int, ...] = ()
) -> Point:
    """Make the history's point for a moment.

    Args:
        at: seconds since 1970.
        metrics: metrics of the world.
        slow: its ranks that are called slow.
        generation: generation of the world, which grows each time its group is rebuilt.
        lost: its ranks that are lost.
    """
    measured = {name: getattr(metrics, name) for name in MEASURED}
    return Point(at=at, generation=generation, values=metrics.values, slow=slow, lost=lost, **measured)


def to_csv(points: Sequence[Point]) -> str:
    """Points as CSV, one line per point, with a column `values.NAME` for each of the user's values."""
    names = list(dict.fromkeys(name for p in points for name in p.values))
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow([*COLUMNS, *(f"values.{name}" for name in names)])
    for p in points:
        table.writerow([*(getattr(p, name) for name in COLUMNS), *(p.values.get(name) for name in names)])
    return out.getvalue()


def scalars(points: Sequence[Point]) -> list[tuple[str, float, int, float]]:
    """Points as (tag, value, step, seconds since 1970) for event files. Repeated user values are left out."""
    rows: list[tuple[str, float, int, float]] = []
    last: dict[str, tuple[int, Any]] = {}
    for number, p in enumerate(points):
        step = p.step if p.step is not None else number
        for name in (*METRICS, "memory_bytes", "network_bytes_per_s"):
            value = getattr(p, name)
            if value is not None:
                rows.append((f"dtrain/{name}", float(value), step, p.at))
        own_step = int(p.values.get("step", step)) if p.values else step
        for name, value in p.values.items():
            if name == "step" or not isinstance(value, (int, float)) or last.get(name) == (own_step, value):
                continue
            last[name] = (own_step, value)
            rows.append((name, float(value), own_step, p.at))
    return rows
