"""Plan of a world on this machine. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from msgspec.structs import replace

from dtrain_lab.errors import BadSize
from dtrain_lab.placement import capacity
from dtrain_lab.placement.layout import check_request, make_plan
from dtrain_lab.text import rank_names
from dtrain_lab.wire.plan import NodeFacts, Plan, Request
from dtrain_lab.wire.profile import Profile


def plan_local(profile: Profile, request: Request, facts: NodeFacts, *, python: str, directory: str) -> Plan:
    """Plan a world on this machine.

    The default is one rank per GPU, or two CPU ranks without GPUs. Several nodes are simulated by one node
    agent each.

    Args:
        profile: the profile.
        request: the user's request.
        facts: resources of this machine.
        python: interpreter of head, agents and ranks.
        directory: working directory of the ranks.

    Raises:
        BadSize: zero ranks, or more than this machine can hold.
    """
    facts = _visible(facts, profile.environment.variables)
    nodes, per_node = _size(profile, request, facts)
    here = replace(profile, workdir=None, cpus_per_rank=None)
    if nodes == 1:
        return make_plan(here, request, [facts], per_node, python=python, directory=directory)
    simulated = [
        replace(facts, name=f"{facts.name}-{number}", cpus=facts.cpus // nodes)
        for number in range(1, nodes + 1)
    ]
    plan = make_plan(here, request, simulated, per_node, python=python, directory=directory)
    return replace(plan, collectives="gloo")  # all of them share the GPUs


def _visible(facts: NodeFacts, variables: Mapping[str, str]) -> NodeFacts:
    """Limit a machine's GPUs to those that the profile's CUDA_VISIBLE_DEVICES makes visible to ranks."""
    shown = variables.get("CUDA_VISIBLE_DEVICES")
    return facts if shown is None else replace(facts, gpus=min(facts.gpus, len(named_gpus(shown))))


def named_gpus(shown: str) -> tuple[str, ...]:
    """Return the GPUs in a value of CUDA_VISIBLE_DEVICES; like CUDA, stop at the first invalid name."""
    names = [name.strip() for name in shown.split(",")]
    return tuple(itertools.takewhile(lambda name: name not in ("", "-1"), names))


def _size(profile: Profile, request: Request, facts: NodeFacts) -> tuple[int, int]:
    most = capacity.most_ranks(facts)
    ask = f"Ask for {capacity.at_most(facts)}."
    check_request(request, f"This machine has {capacity.has(facts)}. {ask}")
    if request.ranks is not None:
        nodes, per_node = 1, request.ranks
    else:
        nodes = request.nodes or profile.nodes or 1
        per_node = request.ranks_per_node or profile.ranks_per_node or capacity.default_ranks(facts)
    if nodes * per_node > most:
        raise BadSize(
            f"{rank_names.count(nodes * per_node)} are too many for this machine: "
            f"it has {capacity.has(facts)}.",
            ask,
            details={
                "most": most,
                "asked": nodes * per_node,
                "cpus": facts.cpus,
                "gpus": facts.gpus,
                "field": _blamed(request, nodes, per_node),
            },
        )
    return nodes, per_node


def _blamed(request: Request, nodes: int, per_node: int) -> str:
    """Return the field that asks for too many ranks: the one that was set, the larger one of two."""
    if request.ranks:
        return "ranks"
    larger = nodes > 1 if request.ranks_per_node is None else nodes > per_node
    return "nodes" if request.nodes and larger else "ranks_per_node"
