"""How many ranks fit on a machine. Pure.

Four numbers that mean different things, defined here only:

- ranks with a GPU or a core of their own (`capacity`): more of them are slower;
- slots (`slot_count`), for which jobs wait in turn. Clusters don't wait;
- the most ranks of one cluster or job (`most_ranks`): more are refused;
- the administrator's limit (`Policy.ranks`), which may be lower.
"""

from __future__ import annotations

from dtrain_lab.text import rank_names
from dtrain_lab.text.units import counted
from dtrain_lab.wire.plan import NodeFacts
from dtrain_lab.wire.profile import Profile

SLOTS_PER_CORE = 8
"""CPU ranks of jobs per core: they wait for each other most of the time, and still make progress."""
MOST_PER_CORE = 32
"""Limit of CPU ranks per core; beyond it they make hardly any progress, and memory runs out first."""


def capacity(facts: NodeFacts, profile: Profile) -> int:
    """Return how many ranks a node has a device for: one per GPU, or per `cpus_per_rank` cores without GPUs.

    Args:
        facts: resources of the node.
        profile: the profile.
    """
    return facts.gpus or max(1, facts.cpus // (profile.cpus_per_rank or 1))


def default_ranks(facts: NodeFacts) -> int:
    """Return the default number of ranks on a node: one per GPU, or two CPU ranks without GPUs."""
    return facts.gpus or 2


def slot_count(facts: NodeFacts, gpus: int | None = None) -> int:
    """Return the number of slots of a machine.

    Args:
        facts: resources of the machine.
        gpus: how many of its GPUs count, as a profile may hide some; all by default.
    """
    if facts.gpus:
        return facts.gpus if gpus is None else gpus
    return SLOTS_PER_CORE * facts.cpus


def most_ranks(facts: NodeFacts) -> int:
    """Return the maximum number of ranks on this machine."""
    return max(facts.gpus, MOST_PER_CORE * facts.cpus)


def has(facts: NodeFacts) -> str:
    """Describe a machine, as "8 cores and no GPU"."""
    return f"{counted(facts.cpus, 'core')} and {counted(facts.gpus, 'GPU') if facts.gpus else 'no GPU'}"


def bounds(facts: NodeFacts, limit: int = 0) -> tuple[int, int]:
    """Return how many ranks this machine takes, and how many devices it has for them.

    Args:
        facts: resources of the machine.
        limit: the administrator's limit; 0 without one.
    """
    return min(limit or most_ranks(facts), most_ranks(facts)), facts.gpus or facts.cpus


def at_most(facts: NodeFacts, limit: int = 0) -> str:
    """Say how many ranks this machine takes, and from how many on they are slower.

    Args:
        facts: resources of the machine.
        limit: the administrator's limit; 0 without one.

    Returns:
        Such as "at most 64 ranks: 2 have a core each, more share cores and are slower".
    """
    device = "GPU" if facts.gpus else "core"
    most, with_device = bounds(facts, limit)
    text = f"at most {rank_names.count(most)}"
    if most <= with_device:
        return f"{text}, with a {device} for each"
    few = f"1 has the {device}" if with_device == 1 else f"{with_device:,} have a {device} each"
    return f"{text}: {few}, more share {'it' if with_device == 1 else f'{device}s'} and are slower"
