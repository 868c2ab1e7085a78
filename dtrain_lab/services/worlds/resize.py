"""Sizes of a cluster that is resized."""

from __future__ import annotations

from dtrain_lab.errors import BadSize
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.plan import Request


def resized(cluster: Cluster, ranks: int) -> Request:
    """Return the request for a cluster's new size; its nodes keep their number of ranks.

    Args:
        cluster: The cluster.
        ranks: The new number of ranks.

    Raises:
        BadSize: They don't fill whole nodes.
    """
    nodes = len(cluster.nodes)
    if nodes <= 1:
        return Request(cluster.profile, ranks)
    per_node = cluster.world.size // nodes
    if ranks % per_node:
        raise BadSize(
            f"{ranks} ranks don't fill whole nodes of {per_node} ranks.",
            f"Ask for a multiple of {per_node}.",
        )
    return Request(cluster.profile, nodes=ranks // per_node, ranks_per_node=per_node)
