"""Builds the head's messages to agents and ranks from the plan. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dtrain_lab.wire import links
from dtrain_lab.wire.plan import NodePlan, Plan
from dtrain_lab.wire.processes.endpoints import Keys

Groups = dict[int, tuple[tuple[links.GroupSpec, ...], int]]
"""Rank → the process groups that it reported last, and the number of group names it has given out."""


@dataclass(frozen=True)
class NodeSettings:
    """Settings that the ranks of a node share."""

    directory: str
    link: str
    master_port: int
    master_address: str = "127.0.0.1"
    interface: str | None = None
    keys: Keys | None = None


def by_node(plan: Plan, ranks: tuple[int, ...]) -> Iterator[tuple[int, NodePlan, tuple[int, ...]]]:
    """Group ranks by node; nodes without any of the ranks are left out.

    Args:
        plan: The world's plan.
        ranks: The ranks.

    Returns:
        Index of each node in the plan, the node, and those of the ranks that it has.
    """
    for index, node in enumerate(plan.nodes):
        mine = tuple(r for r in ranks if node.first_rank <= r < node.first_rank + node.ranks)
        if mine:
            yield index, node, mine


def rank_spec(plan: Plan, settings: NodeSettings, index: int, node: NodePlan, rank: int) -> links.RankSpec:
    """All settings of one rank.

    Args:
        plan: Plan of the world.
        settings: Settings that the ranks of the node share.
        index: Index of the node.
        node: The node.
        rank: Number of the rank.
    """
    return links.RankSpec(
        rank=rank,
        local_rank=rank - node.first_rank,
        world_size=plan.size,
        local_world_size=node.ranks,
        node_rank=index,
        node=node.name,
        gpus=node.gpus,
        threads=node.threads,
        link=settings.link,
        profile_dir=f"{settings.directory}/ipp",
        directory=plan.directory,
        log=f"{settings.directory}/rank.{rank}.log",
        monitor=plan.monitor,
        probe=plan.watch.probe,
        guard=plan.watch.guard,
        master_port=settings.master_port,
        variables=plan.variables,
        keys=settings.keys,
        master_address=settings.master_address,
        interface=settings.interface,
    )


def form(
    plan: Plan, generation: int, joining: tuple[int, ...], groups: Groups
) -> Iterator[tuple[int, links.FormGroup]]:
    """The message to each rank to form a generation; newcomers learn the groups that survivors have.

    The groups are the union of what survivors report, because a rank knows only the groups that it is in.

    Args:
        plan: Plan of the world.
        generation: Number of the new generation.
        joining: Ranks with a new process.
        groups: What each rank reported last.

    Yields:
        Rank and message.
    """
    by_name: dict[str, links.GroupSpec] = {}
    count = 0
    for rank, (specs, names_given) in sorted(groups.items()):
        if rank not in joining:
            count = max(count, names_given)
            for spec in specs:
                by_name.setdefault(spec[0], spec)
    for rank in range(plan.size):
        node = next(n for n in plan.nodes if n.first_rank <= rank < n.first_rank + n.ranks)
        yield (
            rank,
            links.FormGroup(
                generation=generation,
                size=plan.size,
                local_size=node.ranks,
                threads=node.threads,
                collectives=plan.collectives,
                groups=tuple(by_name.values()),
                group_count=count,
            ),
        )
