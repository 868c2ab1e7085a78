"""The ranks that train together, as this package sees them; also outside dtrain-lab's worlds."""

from __future__ import annotations

import os
import sys
from typing import Any

from dtrain_lab.jobs.environment_variables import of_other_framework

_said: set[str] = set()


def grouped() -> bool:
    """Whether this process is in a process group of several ranks."""
    group = _group()
    return group is not None and bool(group.get_world_size() > 1)


def _group() -> Any:
    """Return `torch.distributed` if this process is in its process group; None without one."""
    if of_other_framework():
        return None
    import torch.distributed as dist

    return dist if dist.is_available() and dist.is_initialized() else None


def rank() -> int:
    """Number of this rank: in the process group, else from the launcher's environment; 0 without one."""
    group = _group()
    return int(group.get_rank() if group is not None else os.environ.get("RANK") or 0)


def world_size() -> int:
    """Number of ranks: of the process group, else from the launcher's environment; 1 without one."""
    group = _group()
    return int(group.get_world_size() if group is not None else os.environ.get("WORLD_SIZE") or 1)


def local_rank() -> int:
    """Number of this rank on its node; 0 if no launcher has set it."""
    return int(os.environ.get("LOCAL_RANK") or 0)


def gather(value: Any, group: Any = None) -> list[Any]:
    """Gather a value from every rank of a process group, by default from all, in order; a collective.

    Args:
        value: value of this rank; it is pickled.
        group: the process group; None for the default one.

    Returns:
        The values, in the order of the ranks.
    """
    if not grouped():
        return [value]
    import torch.distributed as dist

    values: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(values, value, group=group)
    return values


def say(text: str) -> None:
    """Print a note for the user to stderr, on rank 0, and each note once in a process."""
    if rank() == 0 and text not in _said:
        _said.add(text)
        print(f"dtrain-lab: {text}", file=sys.stderr)
