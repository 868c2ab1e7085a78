"""MindSpore: a scheduler process that workers register with, and the variables of both."""

from __future__ import annotations

from dtrain_lab.placement.frameworks.started import Started

TOPOLOGY_S = 600
"""Seconds within which all workers have to register: `MS_TOPO_TIMEOUT`."""
DEVICES_PER_NODE = 8
"""On Ascend, a job over several nodes uses all eight devices of each."""


def _common(started: Started) -> dict[str, str]:
    return {
        "MS_WORKER_NUM": str(started.size),
        "MS_SCHED_HOST": started.nodes[0],
        "MS_SCHED_PORT": str(started.port),
        "MS_TOPO_TIMEOUT": str(TOPOLOGY_S),
    }


def scheduler(started: Started) -> dict[str, str]:
    """Return the variables of the scheduler, which runs on the first node beside its workers."""
    return {"MS_ROLE": "MS_SCHED", **_common(started)}


def worker(started: Started, rank: int) -> dict[str, str]:
    """Return the variables of a worker. Its numeric id becomes its rank.

    `DEVICE_ID` is for Ascend devices; CPUs and GPUs ignore it.

    Args:
        started: The job's addresses and size.
        rank: Number of the worker.
    """
    own = {"MS_ROLE": "MS_WORKER", "MS_NODE_ID": str(rank), "DEVICE_ID": str(rank % started.per_node)}
    return {**own, **_common(started)}
