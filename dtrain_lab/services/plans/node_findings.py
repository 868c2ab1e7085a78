"""Findings about a plan's nodes: too few slots for its ranks, no such network interface."""

from __future__ import annotations

import socket

from dtrain_lab.placement.capacity import slot_count
from dtrain_lab.text import rank_names
from dtrain_lab.wire.jobs.finding import Finding
from dtrain_lab.wire.plan import Facts, HostsFacts, NodeFacts, Plan, Request


def shared(plan: Plan, facts: Facts, request: Request) -> tuple[Finding, ...]:
    """Find that ranks share slots of this machine. On hosts there is no plan of more ranks than have room.

    Args:
        plan: The plan.
        facts: What it was made from.
        request: The size that was asked for.
    """
    if not isinstance(facts, NodeFacts):
        return ()
    # GPUs that the profile hides are no slots of this job, and without any of them it waits for none
    slots = slot_count(facts, plan.nodes[0].gpus)
    if not 0 < slots < plan.size:
        return ()
    kind, less = ("GPU", "avoid sharing") if facts.gpus else ("slot", "wait for fewer")
    most = "1 rank" if slots == 1 else f"at most {slots} ranks"
    have, are = (
        (f"one {kind}", f"this {kind} is") if slots == 1 else (f"{slots} {kind}s", f"all {slots} {kind}s are")
    )
    return (
        Finding(
            "warning",
            "shares_slots",
            f"{rank_names.count(plan.size)} share the {have} of this machine.",
            f"It starts once {are} free. Ask for {most} to {less}.",
            field="ranks" if request.ranks is not None else "ranks_per_node",
        ),
    )


def lacking(plan: Plan, facts: Facts) -> tuple[Finding, ...]:
    """Find nodes of a plan that lack its network interface.

    Hosts of the profile that the plan does not use may lack it. A scheduler's nodes are not known yet: there
    the head finds out.

    Args:
        plan: The plan.
        facts: Facts from which the plan was made.
    """
    wanted = plan.interface
    if wanted is None:
        return ()
    if plan.traits.one_machine:
        there = sorted(name for _, name in socket.if_nameindex())
        if wanted in there:
            return ()
        return (
            _problem(
                f"This machine has no network interface {wanted}.",
                f"It has: {', '.join(there)}. Remove the setting: ranks on one machine need no interface.",
            ),
        )
    if not isinstance(facts, HostsFacts):
        return ()
    without = {node.name: facts.lacking[node.name] for node in plan.nodes if node.name in facts.lacking}
    if not without:
        return ()
    have, they = ("has", "It has") if len(without) == 1 else ("have", "They all have")
    names = ", ".join(sorted(set.intersection(*map(set, without.values())))) or "none"
    return (
        _problem(
            f"{', '.join(without)} {have} no usable network interface {wanted}.",
            f"{they}: {names}. Leave it out: the fastest network that all hosts share is used.",
        ),
    )


def _problem(message: str, fix: str) -> Finding:
    return Finding("problem", "no_interface", message, fix, field="interface")
