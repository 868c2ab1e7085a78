"""Utilization of the world's hosts, by host name and by rank. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from dtrain_lab.wire.node_use import HostUse
from dtrain_lab.wire.plan import Plan


def by_name(plan: Plan | None, use: Mapping[int, HostUse]) -> dict[str, HostUse]:
    """Name of a host → its utilization.

    Args:
        plan: the world's plan; None before it has one.
        use: node index → utilization of its host.
    """
    if plan is None:
        return {}
    nodes = plan.nodes[:1] if plan.traits.one_machine else plan.nodes
    return {node.name: use[index] for index, node in enumerate(nodes) if index in use}


def by_rank(plan: Plan | None, use: Mapping[int, HostUse]) -> dict[int, HostUse]:
    """Rank → utilization of its host.

    Args:
        plan: the world's plan; None before it has one.
        use: node index → utilization of its host.
    """
    if plan is None:
        return {}
    one_machine = plan.traits.one_machine
    return {
        node.first_rank + local: host
        for index, node in enumerate(plan.nodes)
        if (host := use.get(0 if one_machine else index)) is not None
        for local in range(node.ranks)
    }
