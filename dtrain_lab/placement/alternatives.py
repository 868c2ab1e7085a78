"""Alternatives to a request that waits in Slurm's queue. Pure."""

from __future__ import annotations

from dtrain_lab.cells import rank_sets
from dtrain_lab.placement.layout import capacity
from dtrain_lab.placement.slurm import gpu_kind, mib, partition_of
from dtrain_lab.wire.cluster import Alternative
from dtrain_lab.wire.plan import Plan, SlurmFacts
from dtrain_lab.wire.profile import Profile


def sooner(plan: Plan, profile: Profile, facts: SlurmFacts) -> tuple[Alternative, ...]:
    """Return a smaller request of the same shape that fits on the partition's idle nodes, if there is one.

    Args:
        plan: plan of a world that waits for nodes.
        profile: its profile.
        facts: resources of the Slurm cluster.
    """
    theirs = profile.slurm
    if theirs.constraint or theirs.options or gpu_kind(theirs.gres or ""):  # which nodes fit is not known
        return ()
    partition, per_node = partition_of(profile, facts), plan.nodes[0].ranks
    memory = (mib(profile.memory_per_node) or 0) << 20
    free = [
        node.name
        for node in partition.nodes
        if node.name in partition.idle and capacity(node, profile) >= per_node and node.memory_bytes >= memory
    ]
    if not 0 < len(free) < len(plan.nodes):
        return ()
    size = rank_sets.count(len(free) * per_node)
    where = "1 node" if len(free) == 1 else f"{len(free)} nodes"
    wanted = {"profile": plan.profile, "nodes": len(free), "ranks_per_node": per_node}
    return (Alternative(f"{size} on {where} could start sooner.", wanted),)
