"""What a cluster is resized to: its profile and its new size."""

from __future__ import annotations

from dtrain_lab.errors import BadSize, Conflict
from dtrain_lab.services.policy import backends
from dtrain_lab.services.profiles import files as profiles
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.plan import Request
from dtrain_lab.wire.processes.head_record import HeadRecord
from dtrain_lab.wire.profile import Profile


def profile_of(record: HeadRecord, cluster: Cluster) -> Profile:
    """Return a cluster's profile: on other machines as at its start, as its file may be changed by now.

    Args:
        record: Record of its head.
        cluster: The cluster.

    Raises:
        Conflict: The cluster is on this machine, and its profile for other machines by now.
        BadProfile, NotFound: The cluster is on this machine, and the file can't be used, or is gone.
    """
    if record.remote is not None:
        return record.remote.profile
    profile = profiles.load(cluster.profile)
    if not backends.backend(profile.backend).traits.one_machine:
        raise Conflict(
            f"{profile.name} was changed since {cluster.name} was started: it is for other machines.",
            "Stop the cluster, and start it with another profile.",
        )
    return profile


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
