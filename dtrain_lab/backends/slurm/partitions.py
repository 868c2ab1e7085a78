"""Slurm's partitions: parsing of `sinfo`, and planning on them. Pure: runs no command."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from msgspec.structs import replace

from dtrain_lab.errors import BadProfile, BadSize
from dtrain_lab.placement.amounts import mib, time_s, time_text
from dtrain_lab.placement.capacity import capacity, default_ranks
from dtrain_lab.placement.layout import make_plan, spread
from dtrain_lab.text import rank_names
from dtrain_lab.wire.cluster import Alternative
from dtrain_lab.wire.plan import NodeFacts, Partition, Plan, Request, SchedulerFacts
from dtrain_lab.wire.profile import Profile

SINFO = "%P|%N|%t|%c|%m|%G|%l"
"""Format of `sinfo -h -N`: one line per node and partition."""
SQUEUE = "%i|%T|%r|%S|%N|%k"
"""Format of `squeue -h`: id, state, reason, expected start, nodes, comment."""
WAITING = (
    *("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD"),
    *("SPECIAL_EXIT", "RESIZING", "SUSPENDED"),
)
"""States of jobs that don't run yet, or not now."""
GONE = ("down", "drain", "drng", "fail", "maint", "unk", "futr", "pow_dn")


def gpus_of(gres: str) -> int:
    """Count the GPUs in a GRES: "gpu:4", "gpu:a100:4(S:0-1)", "(null)"."""
    counts = re.findall(r"(?:^|,)gpu(?::[^:,()]+)?:(\d+)", gres)
    return sum(map(int, counts))


def gpu_kind(gres: str) -> str:
    """Return the kind of the GPUs in a GRES: "a100" for "gpu:a100:4"; empty if it names none."""
    match = re.search(r"(?:^|,)gpu:([^:,()]*[^\d:,()][^:,()]*)", gres)
    return match[1] if match else ""


def parsed(lines: Iterable[str]) -> tuple[Partition, ...]:
    """Parse the output of `sinfo`, in the format `SINFO`; nodes that are down or drained are left out."""
    nodes: dict[str, list[NodeFacts]] = {}
    idle: dict[str, tuple[str, ...]] = {}
    limits: dict[str, tuple[int | None, bool]] = {}
    for line in lines:
        parts = line.strip().split("|")
        if len(parts) != len(SINFO.split("|")):
            continue
        partition, node, state, cpus, memory, gres, limit = parts
        name = partition.rstrip("*")
        limits[name] = (time_s(limit), partition.endswith("*"))
        nodes.setdefault(name, [])
        if not state.lower().startswith(GONE):
            mib = int(re.sub(r"\D", "", memory) or 0)
            nodes[name].append(NodeFacts(node, "", int(cpus), gpus_of(gres), mib << 20))
            if state.lower() == "idle":
                idle[name] = (*idle.get(name, ()), node)
    return tuple(Partition(name, tuple(nodes[name]), *limits[name], idle.get(name, ())) for name in nodes)


def plan_slurm(
    profile: Profile, request: Request, facts: SchedulerFacts, *, python: str, directory: str
) -> Plan:
    """Plan a world on a partition; the scheduler chooses the nodes later.

    Args:
        profile: the profile.
        request: the user's request.
        facts: resources of the Slurm cluster.
        python: interpreter of head, agents and ranks.
        directory: working directory of the ranks if the profile has no workdir.

    Raises:
        BadProfile: the partition doesn't exist, or a time or memory size can't be parsed.
        BadSize: the partition can never run the world.
    """
    partition = partition_of(profile, facts)
    capacities = [capacity(node, profile) for node in partition.nodes]
    place = f"partition {partition.name}"
    sample = partition.nodes[0] if partition.nodes else NodeFacts("", "", 1, 0, 0)
    nodes, per_node = spread(request, profile, capacities, default_ranks(sample), place)
    limit_s = time_s(profile.slurm.time) if profile.slurm.time else None
    if limit_s is not None and partition.time_s is not None and limit_s > partition.time_s:
        limit = time_text(partition.time_s)
        raise BadSize(
            f"This would never start: {place} limits jobs to {limit}, and {profile.slurm.time} is requested.",
            f"Ask for at most {limit}.",
            code="too_long",
            details={"field": "time", "value": limit},
        )
    fitting = [n for n, has in zip(partition.nodes, capacities, strict=True) if has >= per_node]
    memory = mib(profile.memory_per_node)
    if memory is not None and fitting and memory << 20 > max(n.memory_bytes for n in fitting):
        most = max(n.memory_bytes for n in fitting) >> 30
        raise BadSize(
            f"memory_per_node = {profile.memory_per_node} is more than the nodes of {place} have.",
            f"Ask for at most {most}G.",
            code="too_much_memory",
            details={"field": "profile"},
        )
    unnamed = [
        NodeFacts(f"node {index + 1}", "", node.cpus, node.gpus, node.memory_bytes)
        for index, node in enumerate(fitting[:nodes])
    ]
    # to leave room for other users, take the GPUs' share of the cores, or one core per rank without GPUs
    cpus = profile.cpus_per_rank or (max(1, sample.cpus // sample.gpus) if sample.gpus else 1)
    shared = replace(profile, cpus_per_rank=cpus)
    return make_plan(shared, request, unnamed, per_node, python=python, directory=directory)


def partition_of(profile: Profile, facts: SchedulerFacts) -> Partition:
    """Return the profile's partition; by default Slurm's.

    Args:
        profile: Its Slurm section may name the partition.
        facts: Slurm's partitions.

    Raises:
        BadProfile: there is no such partition.
    """
    wanted = profile.slurm.partition
    for partition in facts.partitions:
        if partition.name == wanted or (wanted is None and partition.default):
            return partition
    names = ", ".join(p.name for p in facts.partitions) or "none"
    if wanted is None:
        raise BadProfile(
            "Slurm has no default partition.",
            f"Set [slurm] partition to one of: {names}.",
            details={"field": "partition"},
        )
    raise BadProfile(
        f'Slurm has no partition "{wanted}".',
        f"It has: {names}.",
        code="no_partition",
        details={"field": "partition"},
    )


def test_start(text: str) -> float | None:
    """Parse a job's expected start from `sbatch --test-only`, in seconds since 1970; None if unknown."""
    match = re.search(r"to start at (\S+)", text)
    try:
        return datetime.fromisoformat(match[1]).timestamp() if match else None
    except ValueError:
        return None


def sooner(plan: Plan, profile: Profile, facts: SchedulerFacts) -> tuple[Alternative, ...]:
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
    size = rank_names.count(len(free) * per_node)
    where = "1 node" if len(free) == 1 else f"{len(free)} nodes"
    wanted = {"profile": plan.profile, "nodes": len(free), "ranks_per_node": per_node}
    return (Alternative(f"{size} on {where} could start sooner.", wanted),)
