"""A world's past: one point now and then, what stands in a point, and points as a table. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from dtrain_lab.core.cluster import Metrics, Node, Rank

FIGURES = (
    "samples_per_s",
    "tokens_per_s",
    "step_s",
    "data_s",
    "compute_s",
    "optimizer_s",
    "transfer_s",
    "wait_s",
    "comm_overhead",
)


class Point(Struct, frozen=True, omit_defaults=True):
    """A world at one time. Units stand in the names; None where not known.

    `at`: seconds since 1970. `memory_bytes`: of the rank that has most. `network_bytes_per_s`: sent and
    received by the node that does most. `values`: the user's own, by `dt.log`, as of `step`.
    """

    at: float
    step: int | None = None
    samples_per_s: float | None = None
    tokens_per_s: float | None = None
    step_s: float | None = None
    data_s: float | None = None
    compute_s: float | None = None
    optimizer_s: float | None = None
    transfer_s: float | None = None
    wait_s: float | None = None
    comm_overhead: float | None = None
    memory_bytes: int | None = None
    network_bytes_per_s: float | None = None
    generation: int = 0
    values: dict[str, Any] = {}


def point(
    at: float, metrics: Metrics, ranks: Sequence[Rank], nodes: Sequence[Node], generation: int
) -> Point:
    """What is kept of this moment.

    Args:
        at: seconds since 1970.
        metrics: of the world.
        ranks: of it.
        nodes: of it.
        generation: how often its group was rebuilt.
    """
    figures = {name: getattr(metrics, name) for name in FIGURES}
    return Point(
        at=at,
        step=max((r.step for r in ranks if r.step is not None), default=None),
        memory_bytes=max((m for r in ranks if (m := _memory(r)) is not None), default=None),
        network_bytes_per_s=max((n for node in nodes if (n := network_of(node)) is not None), default=None),
        generation=generation,
        values=metrics.values,
        **figures,
    )


def _memory(rank: Rank) -> int | None:
    """Of its GPU, else of its process."""
    return rank.device_memory_bytes if rank.device_memory_bytes is not None else rank.memory_bytes


def network_of(node: Node) -> float | None:
    """Bytes a second that a node sends and receives; None where not known."""
    if node.sent_bytes_per_s is None or node.received_bytes_per_s is None:
        return None
    return node.sent_bytes_per_s + node.received_bytes_per_s


def to_csv(points: Sequence[Point]) -> str:
    """Points as a table: a line each, the user's own values in columns of their own."""
    names = [f.name for f in msgspec.structs.fields(Point) if f.name != "values"]
    own = list(dict.fromkeys(name for p in points for name in p.values))
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow([*names, *(f"values.{name}" for name in own)])
    for p in points:
        table.writerow([*(getattr(p, name) for name in names), *(p.values.get(name) for name in own)])
    return out.getvalue()


def scalars(points: Sequence[Point]) -> list[tuple[str, float, int, float]]:
    """Points as (tag, value, step, time) for a viewer of event files. Repeated values are left out."""
    found: list[tuple[str, float, int, float]] = []
    told: dict[str, tuple[int, Any]] = {}
    for number, p in enumerate(points):
        step = p.step if p.step is not None else number
        for name in (*FIGURES, "memory_bytes", "network_bytes_per_s"):
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
