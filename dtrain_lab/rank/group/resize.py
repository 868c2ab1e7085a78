"""Resizes the world of a live rank, and names the objects that can't follow.

The size of a process group is fixed in C++, so live groups can't be given a new back-end as in a new
generation of the same size: the default group is destroyed and made again. DDP models over it get the new
group. Subgroups and models sharded over ranks can't follow.
"""

from __future__ import annotations

import gc
import os
from typing import Any, Protocol

import torch.distributed as dist
from torch.utils.data import DistributedSampler

from dtrain_lab.rank.torch import ddp, fsdp, groups
from dtrain_lab.wire.links import FormGroup


class Group(Protocol):
    """What resizing needs of a rank's process groups."""

    size: int

    @property
    def models(self) -> list[Any]:
        """Live DDP models."""

    def init(self, store: dist.Store) -> None:
        """Make the default process group."""


def resize(group: Group, store: dist.Store, order: FormGroup) -> tuple[str, ...]:
    """Destroy the old default group and join the new one; a collective over all ranks of the new world.

    Args:
        group: the process groups of this rank.
        store: rendezvous store of the new generation.
        order: the head's order, with the new size.

    Returns:
        Names of live objects that can't follow.
    """
    left: list[str] = []
    over_world: list[Any] = []
    if dist.is_initialized():
        world = dist.group.WORLD
        left += [f"process group {name}" for pg, name in groups.group_names().items() if pg is not world]
        for module in group.models:
            if module.process_group is world:
                over_world.append(module)
            else:
                left.append(f"{type(module.module).__name__} in DDP over a subgroup")
        dist.destroy_process_group()
    left += [f"{type(module).__name__}, sharded by FSDP2" for module in fsdp.roots()]
    group.size = order.size
    os.environ.update(WORLD_SIZE=str(order.size), LOCAL_WORLD_SIZE=str(order.local_size))
    group.init(store)
    for module in over_world:
        module.process_group = dist.group.WORLD
        ddp.reset(module)
    _resize_samplers(order.size)
    return tuple(left)


def _resize_samplers(size: int) -> None:
    """Make distributed samplers divide their data by the new size, as `DistributedSampler.__init__` does."""
    for sampler in [o for o in gc.get_objects() if type(o) is DistributedSampler]:
        sampler.num_replicas = size
        count = len(sampler.dataset)
        if sampler.drop_last and count % size:
            sampler.num_samples = (count - size) // size + (1 if (count - size) % size else 0)
        else:
            sampler.num_samples = -(-count // size)
        sampler.total_size = sampler.num_samples * size
