"""`profile check`: whether a profile's nodes can run dtrain-lab."""

from __future__ import annotations

import asyncio
import sys

import msgspec

from dtrain_lab.placement import capacity, compatibility
from dtrain_lab.services.policy import limits, policy
from dtrain_lab.services.profiles import environment, speeds
from dtrain_lab.text import rank_names
from dtrain_lab.text.units import counted
from dtrain_lab.wire.kinds import Framework
from dtrain_lab.wire.node_check import Check, CheckedNode, Fitting, ProfileCheck
from dtrain_lab.wire.plan import NodeFacts, Request
from dtrain_lab.wire.profile import Profile
from dtrain_lab.wire.summary import Summary


async def check(profile: Profile) -> ProfileCheck:
    """Check every node of a profile, without starting a world.

    Args:
        profile: The profile.

    Raises:
        Forbidden: The administrator does not allow the profile.
        DtrainError: The profile's environment or one of its nodes is unusable.
    """
    allowed = limits.allowed(profile)
    found, backend = allowed
    if backend.traits.one_machine:
        own = environment.of_machine(found.environment, sys.executable)
        await environment.check(own, found.framework, jobs=True, asked=found.environment)
    checks = await backend.checks(found, sys.executable)
    wrong = compatibility.unfit(checks, found.framework, found.accelerator)
    if wrong is not None:
        raise wrong
    between = await backend.speed(found, sys.executable, checks)
    if between is not None:
        await asyncio.to_thread(speeds.save, found, between)
    facts = await backend.facts(found)
    plan = allowed.plan(facts, Request(profile=found.name), python=sys.executable, directory="/")
    framework = found.framework or "torch"
    nodes = tuple(_node(node, one, framework) for node, one in checks.items())
    least = min(checks.values(), key=lambda c: (c.facts.gpus, c.facts.cpus)).facts
    per_node = capacity.capacity(least, found)
    ask = Fitting(
        nodes=len(nodes),
        ranks_per_node=per_node,
        cpus_per_rank=max(1, least.cpus // per_node),
        memory_gib_per_rank=round(least.memory_bytes / 2**30 / per_node, 1),
    )
    warnings = compatibility.warnings(checks)
    said = capacity_summary(least, ask, plan.size, own=backend.traits.one_machine)
    return ProfileCheck(
        name=found.name,
        backend=found.backend,
        framework=framework,
        nodes=nodes,
        ranks=plan.size,
        collectives=plan.collectives,
        network=between,
        warnings=tuple(warning.text for warning in warnings),
        findings=tuple(warnings),
        ask=ask,
        capacity=" ".join(one.text for one in said),
        room=said,
    )


def capacity_summary(least: NodeFacts, ask: Fitting, starts: int, *, own: bool) -> tuple[Summary, ...]:
    """Say how many ranks fit, in sentences that a page can translate.

    Args:
        least: Resources of the smallest node.
        ask: What a request may ask for so that each rank has a device.
        starts: Number of ranks that the profile starts.
        own: It is this machine, where more ranks may share the devices.
    """
    nodes, per_node = ask.nodes, ask.ranks_per_node
    fitting = msgspec.structs.asdict(ask)
    size = rank_names.count(per_node)
    each = f"{counted(ask.cpus_per_rank, 'core')} and {ask.memory_gib_per_rank:g} GiB"
    if own:
        limit = policy.current().ranks
        most, devices = capacity.bounds(least, limit)
        takes = {"most": most, "devices": devices, "gpus": bool(least.gpus)}
        said: tuple[Summary, ...] = (
            Summary("takes", takes, f"It takes {capacity.at_most(least, limit)}."),
            Summary("each_gets", fitting, f"With {size}, each gets {each}."),
        )
    else:
        where = f"each of {nodes} nodes" if nodes > 1 else "its node"
        said = (Summary("room", fitting, f"There is room for {size} on {where}, with {each} for each."),)
    if starts <= per_node * nodes:
        return said
    text = f"It starts {rank_names.count(starts)} by default, which share its devices."
    return (*said, Summary("shares", {"ranks": starts}, text))


def _node(name: str, one: Check, framework: Framework) -> CheckedNode:
    def of_framework(package: Framework) -> str | None:
        return one.versions.get(package, "") if package == framework else None

    return CheckedNode(
        node=name,
        cpus=one.facts.cpus,
        gpus=one.facts.gpus,
        memory_gib=round(one.facts.memory_bytes / 2**30, 1),
        python=one.versions.get("python", ""),
        torch=one.versions.get("torch", ""),
        tensorflow=of_framework("tensorflow"),
        mindspore=of_framework("mindspore"),
        dtrain_lab=one.versions.get("dtrain-lab", ""),
        driver=one.driver or "–",
        shm_gib=round(one.shm_bytes / 2**30, 1),
        files=one.files,
        processes=one.processes,
        interfaces=", ".join(f"{i.name} {i.address}" for i in one.interfaces),
    )
