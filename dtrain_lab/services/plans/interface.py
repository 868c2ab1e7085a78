"""Checks that the nodes of a plan have the requested network interface; one rule for all back-ends."""

from __future__ import annotations

import socket

from dtrain_lab.wire.jobs.finding import Finding
from dtrain_lab.wire.plan import Facts, HostsFacts, Plan


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
                f"It has: {', '.join(there)}. Leave it out: ranks on one machine need none.",
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
