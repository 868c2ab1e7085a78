"""The metrics of a world from those of its ranks and nodes, as each metric's declaration says. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean, median

from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.wire.cluster import Rank
from dtrain_lab.wire.metrics.definitions import LoopMetrics, OverRanks, declared
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.node_use import Node

HOW: dict[OverRanks, Callable[[Sequence[float]], float]] = {
    "sum": sum,
    "mean": fmean,
    "median": median,
    "largest": max,
}


def value(kind: type[Struct], name: str, values: Iterable[float | None]) -> float | None:
    """Return a world's value of a metric, as it is declared; None if none of its ranks has one.

    Args:
        kind: a struct that has the metric.
        name: the metric.
        values: the value of each rank, or node; None if unknown.
    """
    how = declared(kind)[name][1].over_ranks
    numbers = [number for number in values if number is not None]
    return HOW[how](numbers) if numbers and how is not None else None


def loop(ranks: Sequence[Mapping[str, float | None]]) -> dict[str, float | None]:
    """Return the metrics of the world's loop by name.

    A part of a step is the mean over the ranks of its share of the step: means add up, so that transfer and
    waiting are the communication that is named beside them. Medians don't: where one rank is slow, the median
    rank is one of those that wait, and what the slow rank computes appears nowhere.

    Args:
        ranks: the same metrics of each rank, which all take steps.
    """
    step = value(LoopMetrics, "step_s", [rank["step_s"] for rank in ranks])
    by_name: dict[str, float | None] = {}
    for name, (_, metric) in declared(LoopMetrics).items():
        if metric.part:
            of = [(rank.get(name), rank["step_s"]) for rank in ranks]
            shares = [part / step_s for part, step_s in of if part is not None and step_s]
            share = value(LoopMetrics, name, shares)
            by_name[name] = None if share is None or step is None else step * share
        else:
            by_name[name] = value(LoopMetrics, name, [rank.get(name) for rank in ranks])
    return by_name


def with_largest(metrics: Metrics, ranks: Sequence[Rank], nodes: Sequence[Node]) -> Metrics:
    """Return a world's metrics with its steps and its use of memory and network, which are the largest.

    Args:
        metrics: of the world's loop.
        ranks: ranks of the world.
        nodes: nodes of the world.
    """
    step = value(Metrics, "step", (rank.step for rank in ranks))
    memory = value(Metrics, "memory_bytes", map(_memory, ranks))
    return replace(
        metrics,
        step=None if step is None else int(step),
        memory_bytes=None if memory is None else int(memory),
        network_bytes_per_s=value(Metrics, "network_bytes_per_s", map(network_of, nodes)),
    )


def _memory(rank: Rank) -> int | None:
    """Memory used on a rank's GPU, or by its process without a GPU, bytes."""
    return rank.device_memory_bytes if rank.device_memory_bytes is not None else rank.memory_bytes


def network_of(node: Node) -> float | None:
    """Bytes per second that a node sends and receives together; None if unknown."""
    if node.sent_bytes_per_s is None or node.received_bytes_per_s is None:
        return None
    return node.sent_bytes_per_s + node.received_bytes_per_s
