"""TensorFlow: roles of ranks by strategy, `TF_CONFIG` of each, and each rank's share of a node's GPUs."""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec import Struct

from dtrain_lab.errors import BadSize
from dtrain_lab.placement.frameworks.started import Started
from dtrain_lab.wire.jobs.framework import FrameworkPlan
from dtrain_lab.wire.kinds import Role, Strategy

STRATEGIES: dict[str, Strategy] = {
    "MultiWorkerMirroredStrategy": "multi_worker_mirrored",
    "CollectiveAllReduceStrategy": "multi_worker_mirrored",
    "MirroredStrategy": "mirrored",
    "CentralStorageStrategy": "central_storage",
    "ParameterServerStrategy": "parameter_server",
    "ParameterServerStrategyV2": "parameter_server",
}
"""Names of the classes, in `tf.distribute` or in `tf.distribute.experimental`."""
ALONE: tuple[Strategy, ...] = ("mirrored", "central_storage")
"""Strategies of one process, which trains on all GPUs of its node."""
GROWTH = "TF_FORCE_GPU_ALLOW_GROWTH"
"""With it, TensorFlow allocates GPU memory on demand, so that several processes can share a GPU."""
WORKERS_PER_SERVER = 4
LEAST_WITH_SERVERS = 3


class Share(Struct, frozen=True):
    """GPUs that a rank may see. `shared`: other ranks have the same one."""

    gpus: tuple[str, ...]
    shared: bool = False


def plan(strategy: Strategy | None, size: int, *, evaluates: bool = False) -> FrameworkPlan:
    """Return the roles of a job's ranks.

    Args:
        strategy: the notebook's strategy; None is planned as MultiWorkerMirroredStrategy.
        size: number of ranks.
        evaluates: whether the notebook has code for an evaluator.

    Raises:
        BadSize: too few ranks for parameter servers.
    """
    if strategy in ALONE:
        return FrameworkPlan("tensorflow", strategy)
    if strategy == "parameter_server":
        return FrameworkPlan("tensorflow", strategy, _with_servers(size, evaluates=evaluates))
    return FrameworkPlan("tensorflow", strategy, _several("worker", size))


def _with_servers(size: int, *, evaluates: bool) -> tuple[Role, ...]:
    """Rank 0 is the chief; then come workers, one parameter server per four workers, and the evaluator."""
    least = LEAST_WITH_SERVERS + evaluates
    if size < least:
        needs = "a chief, a worker, a parameter server" + (" and an evaluator" if evaluates else "")
        raise BadSize(
            f"ParameterServerStrategy needs {needs}: {least} ranks or more, not {size}.",
            f"Ask for {least} ranks.",
            details={"field": "ranks_per_node"},
        )
    rest = size - 1 - evaluates
    servers = -(-rest // (WORKERS_PER_SERVER + 1))
    workers, last = _several("worker", rest - servers), _several("evaluator", int(evaluates))
    return ("chief", *workers, *_several("ps", servers), *last)


def _several(role: Role, count: int) -> tuple[Role, ...]:
    return (role,) * count


def variables(plan: FrameworkPlan, started: Started, rank: int) -> dict[str, str]:
    """Return `TF_CONFIG` of a rank; none for strategies of one process.

    As TensorFlow requires, the evaluator is not in the cluster of any other process.

    Args:
        plan: The framework's part of the job's plan, with the ranks' roles.
        started: The job's addresses and size.
        rank: Number of the rank.
    """
    if not plan.roles:
        return {}
    cluster: dict[str, list[str]] = {}
    for number, role in enumerate(plan.roles):
        if role != "evaluator":
            cluster.setdefault(role, []).append(started.address(number))
    role = plan.roles[rank]
    index = plan.roles[:rank].count(role)
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": role, "index": index}})}


def own_gpus(plan: FrameworkPlan, visible: Sequence[str], rank: int, per_node: int) -> Share | None:
    """Return the GPUs that a rank may see: TensorFlow allocates all memory of every visible GPU.

    The node's GPUs are divided among its computing ranks. If there are more such ranks than GPUs, GPUs are
    assigned in turn, one to each rank.

    Args:
        plan: the job's.
        visible: GPUs of the job on this node.
        rank: number of the rank.
        per_node: ranks on each node.

    Returns:
        None if the rank may see all of them.
    """
    if not visible:
        return None
    if _only_stores(plan, rank):
        return Share(())
    first = rank - rank % per_node
    computing = [other for other in range(first, first + per_node) if not _only_stores(plan, other)]
    if len(computing) == 1:
        return None
    place, each = computing.index(rank), len(visible) // len(computing)
    if not each:
        return Share((visible[place % len(visible)],), shared=True)
    return Share(tuple(visible[place * each : (place + 1) * each]))


def _only_stores(plan: FrameworkPlan, rank: int) -> bool:
    """Whether a rank is a parameter server, which computes nothing."""
    return bool(plan.roles) and plan.roles[rank] == "ps"
