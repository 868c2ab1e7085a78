"""Metrics of steps that are no longer taken: which they are, how they read, and what remains. Pure."""

from __future__ import annotations

import functools
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.text.units import least_share
from dtrain_lab.wire.cluster import Cluster, Rank
from dtrain_lab.wire.links import RankMetrics, RankSample
from dtrain_lab.wire.metrics.definitions import declared
from dtrain_lab.wire.metrics.world import Metrics

_NO_STEPS: dict[str, Any] = {**msgspec.structs.asdict(RankMetrics()), "step": None, "bound": ""}


@functools.cache
def of_steps(kind: type[Struct]) -> tuple[str, ...]:
    """Return the names of a struct's metrics that hold only while steps are taken, by their declarations.

    Args:
        kind: the struct.
    """
    return tuple(name for name, (_, metric) in declared(kind).items() if not metric.lasts)


def without_steps(sample: RankSample) -> RankSample:
    """Return a rank's sample without its steps, which are of an earlier cell than the one that others run.

    Args:
        sample: the rank's latest sample.
    """
    return replace(sample, **_NO_STEPS)


def as_of_now(cluster: Cluster) -> Cluster:
    """Return a cluster without outdated metrics.

    A rank's last seconds stay in its samples after its cell has ended, was interrupted or got stuck. The
    last metrics of the loop are separate (`Metrics.last`), and advice on it stays.

    Args:
        cluster: the cluster as its head sends it.
    """
    metrics, ranks = cluster.metrics, cluster.ranks
    if metrics.current or all(rank.step_s is None for rank in ranks):
        return cluster
    none: dict[str, Any] = dict.fromkeys(of_steps(Rank))
    return replace(
        cluster,
        metrics=replace(metrics, **dict.fromkeys(of_steps(Metrics))),
        ranks=tuple(replace(rank, **none) for rank in ranks),
    )


def last_text(metrics: Metrics) -> str:
    """Return throughput and communication of the last training, marked as such.

    Empty while one runs, and if there was none.

    Args:
        metrics: of the world.
    """
    last = metrics.last
    if metrics.current or last is None:
        return ""
    share = least_share(last.comm_overhead, last.comm_bound, last.comm_overhead_error)
    parts = (
        f"{last.samples_per_s:,.1f} samples/s" if last.samples_per_s is not None else "",
        f"communication {share}" if last.comm_overhead is not None else "",
    )
    text = ", ".join(filter(None, parts))
    return f"Last: {text}." if text else ""
